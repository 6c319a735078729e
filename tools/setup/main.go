// Command setup builds or installs what a rehearsal needs and no package registry has ready to run:
// a Kubernetes control plane, the KubeRay operator, the Pulumi engine, two of its providers, and
// Ray. Each part is built once per version, in a cache outside the checkout, and linked into the
// checkout's bin folder.
//
// It uses the standard library only, so that it compiles in a second and can say what is missing
// before anything else is fetched.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// errInterrupted means that the user stopped set-up.
var errInterrupted = errors.New("interrupted; finished parts are kept; run make setup to continue")

// exitInterrupted is what a shell reports for a program that ended by Ctrl-C.
const exitInterrupted = 130

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil {
		return
	}
	if ctx.Err() != nil {
		err = errInterrupted
	}
	fmt.Fprintf(os.Stderr, "set-up: %v\n", err)
	if errors.Is(err, errInterrupted) {
		os.Exit(exitInterrupted)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("setup", flag.ContinueOnError)
	root := flags.String("root", ".", "the checkout")
	with := flags.String("with", "", "comma-separated optional parts to build as well: golangci-lint")
	only := flags.String("only", "", "comma-separated parts to build, and no others")
	clean := flags.Bool("clean", false, "remove the cache and build nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("reading the command line: %q is not a flag; see -help", flags.Arg(0))
	}
	dir, err := cacheFolder()
	if err != nil {
		return err
	}
	if *clean {
		return removeCache(dir)
	}
	absolute, err := filepath.Abs(*root)
	if err != nil {
		return fmt.Errorf("resolving checkout %q: %w", *root, err)
	}
	versions, err := readVersions(absolute)
	if err != nil {
		return err
	}
	recipes, err := choose(parts(versions), split(*with), split(*only))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the cache: %w", err)
	}
	return setup{
		root: absolute, cache: cache{dir}, machine: thisMachine(dir),
		facts: map[fact]string{
			platform: runtime.GOOS + "/" + runtime.GOARCH, python: pythonVersion(), cachePath: dir,
		},
		screen: &screen{out: os.Stdout, every: 30 * time.Second},
	}.run(ctx, recipes)
}

// choose returns the recipes to use: those named in only, or else all that are not optional and
// those named in with.
func choose(all []recipe, with, only []string) ([]recipe, error) {
	wanted := map[string]bool{}
	for _, name := range append(with, only...) {
		wanted[name] = true
	}
	var chosen []recipe
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
		if wanted[r.Name] || len(only) == 0 && !r.Optional {
			chosen = append(chosen, r)
		}
		delete(wanted, r.Name)
	}
	for name := range wanted {
		return nil, fmt.Errorf("choosing parts: there is no part %q; the parts are %s", name, strings.Join(names, ", "))
	}
	return chosen, nil
}

// split splits a comma-separated list; an empty string is an empty list.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// pythonVersion is empty when there is no Python; the check of prerequisites says so later.
func pythonVersion() string {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.version, sys.executable)").Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// removeCache removes everything that set-up installed.
func removeCache(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the cache: %w", err)
	}
	fmt.Printf("set-up: removed %s\n", dir)
	return nil
}
