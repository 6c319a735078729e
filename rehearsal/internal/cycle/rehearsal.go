// Package cycle runs the whole program on one machine: the real engine,
// operator and Ray on an emulated AWS account, with or without a fault.
package cycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
)

// DefaultSpeed divides AWS's latencies: a control plane that takes nine
// minutes there takes about a second.
const DefaultSpeed = 600

// Options says how a rehearsal runs.
type Options struct {
	// Dir holds everything that the rehearsal writes.
	Dir string
	// Root is the checkout, whose bin/ holds the toolchain.
	Root string
	// Speed divides AWS's latencies; 0 means no waiting at all.
	Speed float64
	// Fault is what to break.
	Fault faults.Fault
	// Settings override those of the rehearsal, keys without namespace.
	Settings map[string]string
	// Program is the Pulumi program.
	Program pulumi.RunFunc
	// Out receives what people read.
	Out io.Writer
}

// Rehearsal is one kept folder with its daemon and its stack.
type Rehearsal struct {
	options Options
	daemon  *daemon.Client
	engine  *engine.Engine
}

// markerFile makes a folder recognizable as a rehearsal's: stop and clean-up
// touch no other.
const markerFile = "REHEARSAL"

// ErrNotARehearsal is the cause when --dir names a folder of something else.
var ErrNotARehearsal = errors.New("not a rehearsal's folder")

// Open starts what the rehearsal in options.Dir needs: folder, daemon, stack.
func Open(ctx context.Context, options Options) (*Rehearsal, error) {
	tools, err := toolchain.Locate(options.Root)
	if err != nil {
		return nil, err
	}
	if err := checkGate(ctx, tools.PluginRaytrain); err != nil {
		return nil, err
	}
	if err := prepareDir(options.Dir); err != nil {
		return nil, err
	}
	running, err := daemon.Start(ctx, options.Dir, options.Root, options.Speed)
	if err != nil {
		return nil, err
	}
	r := &Rehearsal{options: options, daemon: running}
	if err := r.daemon.SetFaults(ctx, accountFaults(options.Fault)); err != nil {
		return nil, fmt.Errorf("setting the account's faults: %w", err)
	}
	settings, err := r.settings(ctx)
	if err != nil {
		return nil, err
	}
	env, err := Environment(options.Dir, options.Root)
	if err != nil {
		return nil, err
	}
	r.engine, err = engine.New(ctx, engine.Config{
		Dir: options.Dir, Root: options.Root, Env: env, Settings: settings,
		Program: options.Program, Out: options.Out,
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// prepareDir makes the folder, or recognizes one that an earlier rehearsal made.
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
		return fmt.Errorf("using --dir %q: %w and not empty: name an empty or new folder", dir, ErrNotARehearsal)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		return fmt.Errorf("making the rehearsal's folder: %w", err)
	}
	note := "This folder belongs to `raytrain rehearse`. Nothing in it happened on AWS.\n"
	if err := os.WriteFile(marker, []byte(note), 0o600); err != nil {
		return fmt.Errorf("marking the rehearsal's folder: %w", err)
	}
	return nil
}

// CheckDir refuses a folder that no rehearsal made.
func CheckDir(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, markerFile)); err != nil {
		return fmt.Errorf("using --dir %q: %w: run `raytrain rehearse up --dir %s` first", dir, ErrNotARehearsal, dir)
	}
	return nil
}

// accountFaults translates a row of the table into switches of the account.
func accountFaults(fault faults.Fault) account.Faults {
	var out account.Faults
	if fault.NoCapacity {
		out.NoCapacity = []account.TypeInZone{{Type: gpuInstanceType}}
	}
	if fault.NoQuota {
		out.Quota = map[string]float64{gpuQuotaCode: 0}
	}
	out.EFADeviceBroken = fault.BrokenEFA
	out.StripSelfEgress = fault.NoSelfEgress
	return out
}

const (
	gpuInstanceType = "g6.12xlarge"
	// gpuQuotaCode is the quota of running On-Demand G and VT instances, in vCPU.
	gpuQuotaCode = "L-DB2E81BA"
)
