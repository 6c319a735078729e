// Package rehearsal runs the steps of one rehearsal: preview, up, refresh and destroy. A rehearsal
// is a folder, a daemon that emulates an AWS account, and a Pulumi stack. Package cycle runs all
// steps in order, package engine runs Pulumi, and package daemon the emulated AWS account.
package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/provider/freshness"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
)

// DefaultSpeed is the factor by which AWS's latencies are shortened: a control plane takes one
// second instead of nine minutes.
const DefaultSpeed = 600

// Options configures a rehearsal.
type Options struct {
	// Dir is the folder for all files of the rehearsal.
	Dir string
	// Root is the checkout, whose bin/ holds the toolchain.
	Root string
	// Speed is the factor by which AWS's latencies are shortened; 0 means no waiting.
	Speed float64
	// Fault is the fault to inject; the zero value injects none.
	Fault faults.Fault
	// Settings overrides settings of the stack, by key without namespace.
	Settings map[string]string
	// Program returns the Pulumi program, which appends its refusals and price to the log.
	Program func(eventlog.Log) pulumi.RunFunc
	// Out receives the progress output.
	Out io.Writer
}

// Rehearsal is one folder with its daemon and its stack.
type Rehearsal struct {
	options Options
	lock    *os.File
	daemon  *daemon.Client
	// parts is the daemon as a step watches it.
	parts  partsDaemon
	engine *engine.Engine
}

// markerFile identifies the folder of a rehearsal. No other folder is changed or removed.
const markerFile = "REHEARSAL"

// ErrNotARehearsal means that --dir is not the folder of a rehearsal.
var ErrNotARehearsal = errors.New("not a rehearsal's folder")

// Open starts what the rehearsal in options.Dir needs: folder, daemon, stack.
func Open(ctx context.Context, options Options) (*Rehearsal, error) {
	tools, err := toolchain.Locate(options.Root)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkNode(), checkGate(ctx, tools.PluginRaytrain)); err != nil {
		return nil, err
	}
	if err := prepareDir(options.Dir); err != nil {
		return nil, err
	}
	r := &Rehearsal{options: options}
	if r.lock, err = lock(options.Dir); err != nil {
		return nil, err
	}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(err, r.lock.Close())
	}
	return r, nil
}

// start starts the daemon if it is not running, and opens the stack.
func (r *Rehearsal) start(ctx context.Context) (err error) {
	dir := r.options.Dir
	if err := errors.Join(engine.CheckLock(dir), checkDisk(dir, minFreeMiB)); err != nil {
		return err
	}
	if err := engine.KillOrphans(dir); err != nil {
		return err
	}
	if err := r.startDaemon(ctx); err != nil {
		return err
	}
	r.parts = r.daemon
	return r.Inject(ctx, r.options.Fault, r.options.Settings)
}

// startDaemon starts the daemon unless it runs and all its parts run.
func (r *Rehearsal) startDaemon(ctx context.Context) (err error) {
	dir, root, speed := r.options.Dir, r.options.Root, r.options.Speed
	if r.daemon, err = daemon.Start(ctx, dir, root, speed); err != nil {
		return err
	}
	status, err := r.daemon.Status(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(status.Incidents,
		func(i daemon.Incident) bool { return !i.Restarted }) {
		return nil
	}
	if err := r.daemon.Stop(ctx); err != nil {
		return err
	}
	r.daemon, err = daemon.Start(ctx, dir, root, speed)
	return err
}

// Stop ends the daemon and keeps the folder.
func (r *Rehearsal) Stop(ctx context.Context) error {
	return errors.Join(r.daemon.Stop(ctx), r.lock.Close())
}

// checkGate returns an error if the gate is missing or was built from other sources. Otherwise the
// engine would fail only after the cluster is created.
func checkGate(ctx context.Context, binary string) error {
	output, err := exec.CommandContext(ctx, binary, freshness.CheckFlag).CombinedOutput()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ended):
		return fmt.Errorf("checking the gate: %s", strings.TrimSpace(string(output)))
	default:
		return fmt.Errorf("checking the gate: %w; next: run `make build` in the checkout", err)
	}
}

// checkNode returns an error if Node.js is not on the PATH. Pulumi would call that "a bug in the
// provider".
func checkNode() error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("the eks plugin needs Node.js, which is not on the PATH; " +
			"next: install Node.js 20 or later with npm")
	}
	return nil
}

// prepareDir creates the folder, or accepts the folder of an earlier rehearsal.
func prepareDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading --dir: %w", err)
	}
	marker := filepath.Join(dir, markerFile)
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	if len(entries) > 0 {
		return fmt.Errorf("using --dir %q: %w, and not empty; next: use an empty or new folder", dir,
			ErrNotARehearsal)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		return fmt.Errorf("creating the rehearsal's folder: %w", err)
	}
	note := "This folder belongs to `raytrain rehearse`. Nothing in it happened on AWS.\n"
	if err := os.WriteFile(marker, []byte(note), 0o600); err != nil {
		return fmt.Errorf("marking the rehearsal's folder: %w", err)
	}
	return nil
}

// CheckDir returns an error if dir is not the folder of a rehearsal.
func CheckDir(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, markerFile)); err != nil {
		return fmt.Errorf("using --dir %q: %w; next: raytrain rehearse up --dir %s", dir,
			ErrNotARehearsal, dir)
	}
	return nil
}
