package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/internal/imagepin"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/internal/stack"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/breaks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/cycle"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/faults"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/rehearsal"
)

const rehearseHelp = `Run the whole stack on an emulated AWS account on this machine: preview, up, verdict, destroy.
Pulumi's engine, the eks component, the Kubernetes provider, the control plane, the KubeRay
operator, Ray and the gate are real. The AWS APIs, the nodes and NCCL's log lines are emulated.
Nothing leaves this machine.

Exit status:
  0  the update succeeded and the account is empty
  1  usage or set-up error
  2  the update was refused
  3  destroy left resources that cost money or reserve a name`

// rehearseFlags are the flags of `raytrain rehearse` and its steps.
type rehearseFlags struct {
	dir, root  string
	speed      float64
	fault      string
	files      cycle.Files
	keep       bool
	listFaults bool
	// all is the pattern of --all-faults; "" means that the flag is not set.
	all              string
	fast             bool
	soak             int
	seed             uint64
	settingOverrides []string
	// breakName is a mistake to inject into the program, for `make breaks`.
	breakName string
}

func newRehearseCommand() *cobra.Command {
	flags := &rehearseFlags{}
	command := &cobra.Command{
		Use:   "rehearse",
		Short: "Run the whole stack on an emulated AWS account on this machine",
		Long:  rehearseHelp,
		Example: `  raytrain rehearse
  raytrain rehearse --fault tcp-fallback --json result.json
  raytrain rehearse --all-faults='log-*'
  raytrain rehearse --soak 50 --seed 7
  raytrain rehearse up --dir /tmp/kept && eval "$(raytrain rehearse env --dir /tmp/kept)"`,
		RunE: func(command *cobra.Command, _ []string) error { return flags.cycle(command) },
	}
	persistent := command.PersistentFlags()
	persistent.StringVar(&flags.dir, "dir", "",
		"folder of the rehearsal; a whole cycle makes a temporary one by default")
	persistent.StringVar(&flags.root, "root", "",
		"checkout whose bin/ holds the toolchain (default: that of this program)")
	persistent.Float64Var(&flags.speed, "speed", rehearsal.DefaultSpeed,
		"how many times faster than AWS the emulated account is; 0 means no waiting")
	persistent.StringVar(&flags.fault, "fault", "", "the fault to inject; see --list-faults")
	persistent.StringArrayVar(&flags.settingOverrides, "set", nil,
		"a setting of the stack, KEY=VALUE (may be repeated)")
	local := command.Flags()
	local.StringVar(&flags.breakName, "break", "",
		"inject a mistake into the program; see rehearsal/breaks")
	local.Lookup("break").Hidden = true
	local.StringVar(&flags.files.JSON, "json", "", "write the result to this file")
	local.StringVar(&flags.files.State, "state", "",
		"write the exported state of the finished stack to this file")
	local.StringVar(&flags.files.Timeline, "timeline", "",
		"write a timeline for chrome://tracing or Perfetto to this file")
	local.BoolVar(&flags.keep, "keep", false, "leave the stack and its cluster running")
	local.BoolVar(&flags.listFaults, "list-faults", false,
		"print the faults, tab-separated: name, phase, NCCL_NET, verdict, exit, description")
	local.StringVar(&flags.all, "all-faults", "",
		"run every fault, or those that match a pattern (--all-faults='log-*'); "+
			"exit 0 only if each ended as the table says")
	local.Lookup("all-faults").NoOptDefVal = "*"
	local.BoolVar(&flags.fast, "fast", false, "with --all-faults: only the faults that the tests run")
	local.IntVar(&flags.soak, "soak", 0,
		"run this number of updates with random faults on one stack; exit 0 only if each ended as expected")
	local.Uint64Var(&flags.seed, "seed", 1, "with --soak: the same seed repeats the same faults")
	command.AddCommand(stepCommands(flags)...)
	return command
}

// options checks the flags and turns them into the rehearsal's options.
func (f *rehearseFlags) options(out io.Writer) (rehearsal.Options, error) {
	fault, err := faults.Find(f.fault)
	problems := []error{err}
	if !(f.speed >= 0) || math.IsInf(f.speed, 1) { // NaN compares with nothing
		problems = append(problems,
			fmt.Errorf("--speed %g: must be 0 or more; 1 is as slow as AWS, 600 the default",
				f.speed))
	}
	overrides := map[string]string{}
	for _, override := range f.settingOverrides {
		key, value, ok := strings.Cut(override, "=")
		if !ok || key == "" {
			problems = append(problems,
				fmt.Errorf("--set %q: must be KEY=VALUE, such as job.steps=8", override))
			continue
		}
		overrides[key] = value
	}
	for _, unknown := range settings.Unknown(overrides) {
		problems = append(problems,
			fmt.Errorf("--set %s=%s: %s", unknown.Key, unknown.Value, unknown.Reason()))
	}
	if region, ok := overrides["awsRegion"]; ok && region != daemon.Region {
		problems = append(problems,
			fmt.Errorf("--set awsRegion=%s: the emulated AWS account has only the region %s",
				region, daemon.Region))
	}
	program := func(events eventlog.Log) pulumi.RunFunc {
		return stack.Program(events, imagepin.Exists)
	}
	if f.breakName != "" {
		broken, err := breaks.Find(f.breakName)
		problems = append(problems, err)
		program = broken.Program(program)
	}
	root, err := f.checkout()
	problems = append(problems, err, f.files.Check(f.dir))
	if err := errors.Join(problems...); err != nil {
		return rehearsal.Options{}, err
	}
	return rehearsal.Options{
		Dir: f.dir, Root: root, Speed: f.speed, Fault: fault, Settings: overrides,
		Program: program, Out: out,
	}, nil
}

// checkout returns the checkout whose bin/ holds the toolchain: --root, or the one that this
// program is in.
func (f *rehearseFlags) checkout() (string, error) {
	root := f.root
	if root == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("finding this program: %w", err)
		}
		root = filepath.Dir(filepath.Dir(self))
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("using --root %q: %w", f.root, err)
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "pulumi")); err != nil {
		return "", fmt.Errorf("using --root %q: no bin/pulumi there; "+
			"next: run `make build` in the checkout", root)
	}
	return root, nil
}

// workDir makes --dir absolute. Without one it creates a temporary folder, which the returned
// function removes.
func (f *rehearseFlags) workDir() (remove func(), err error) {
	if f.dir != "" {
		f.dir, err = filepath.Abs(f.dir)
		return func() {}, err
	}
	f.dir, err = os.MkdirTemp("", "raytrain-rehearsal-")
	if err != nil {
		return nil, fmt.Errorf("creating a folder for the rehearsal: %w", err)
	}
	dir := f.dir
	return func() { _ = os.RemoveAll(dir) }, nil
}

func (f *rehearseFlags) cycle(command *cobra.Command) error {
	out := command.OutOrStdout()
	switch {
	case f.listFaults:
		for _, row := range faults.Rows() {
			fmt.Fprintln(out, row)
		}
		return nil
	case f.all != "":
		return f.allFaults(command)
	case f.soak > 0:
		return f.runSoak(command)
	}
	result, err := f.one(command)
	if err != nil {
		return err
	}
	if result.Exit != cycle.ExitGreen {
		return &exit.Error{Code: result.Exit}
	}
	return nil
}

// one runs one cycle in its own folder.
func (f *rehearseFlags) one(command *cobra.Command) (cycle.Result, error) {
	temporary := f.dir == ""
	removeDir, err := f.workDir()
	if err != nil {
		return cycle.Result{}, err
	}
	options, err := f.options(command.OutOrStdout())
	if err != nil {
		removeDir()
		return cycle.Result{}, err
	}
	result, err := cycle.Run(command.Context(), options, f.files, f.keep)
	switch {
	case f.keep:
		fmt.Fprintf(command.OutOrStdout(),
			"kept; to remove it: raytrain rehearse destroy --dir %[1]s && raytrain rehearse stop --dir %[1]s\n", f.dir)
	case err == nil:
		removeDir()
		fmt.Fprintln(command.OutOrStdout(), afterwards(f.dir, temporary))
	default:
		fmt.Fprintf(command.ErrOrStderr(), "the logs are in %s\n", f.dir)
	}
	return result, err
}

// afterwards returns a sentence on whether the folder of a finished cycle still exists.
func afterwards(dir string, temporary bool) string {
	if temporary {
		return "reports and logs are removed; --dir DIR keeps them"
	}
	return "reports and logs are in " + dir
}
