package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/provider/status"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

const statusHelp = `Show the newest training job of a cluster, the verdict on its evidence so far, the GPU
nodes, the pods and the cost. It only reads, also while "pulumi up" runs.

The cluster is that of the Pulumi stack of this folder, or of --stack. Without a stack, use
--kubeconfig, --raycluster and --namespace; the cost is then unknown.

Exit status: 0 if the status could be read, 1 on an error. With --exit-code:
  0  efa           the newest attempt passed: the record in the cluster and the stack agree
  1                usage error, or the stack could not be read
  2  not-efa       the newest attempt was judged, and did not pass
  3  mixed         likewise
  4  inconclusive  likewise; or there is no attempt, it was not judged, or the job failed on EFA`

// watchPause is the time between two looks with --watch.
const watchPause = 10 * time.Second

// statusFlags are the flags of `raytrain status`.
type statusFlags struct {
	stack                             string
	kubeconfig, namespace, rayCluster string
	watch, exitCode, asJSON           bool
}

func newStatusCommand() *cobra.Command {
	flags := statusFlags{}
	command := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show the training job of a cluster, its verdict so far, and the cost",
		Long:  statusHelp,
		Example: `  raytrain status --watch
  raytrain status --stack prod --exit-code
  raytrain status --kubeconfig kubeconfig --raycluster train --namespace ray --json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	set := command.Flags()
	set.StringVar(&flags.stack, "stack", "", "Pulumi stack; default: the selected one")
	set.StringVar(&flags.kubeconfig, "kubeconfig", "", "kubeconfig file of a cluster without a stack")
	set.StringVar(&flags.rayCluster, "raycluster", "", "name of the RayCluster, with --kubeconfig")
	set.StringVar(&flags.namespace, "namespace", "default", "namespace of the RayCluster, with --kubeconfig")
	set.BoolVar(&flags.watch, "watch", false, "repeat every 10 s until the job was judged")
	set.BoolVar(&flags.exitCode, "exit-code", false, "exit with the status of the verdict, as listed above")
	set.BoolVar(&flags.asJSON, "json", false, "print JSON, one object a line")
	return command
}

func (f *statusFlags) run(command *cobra.Command) error {
	if (f.kubeconfig == "") != (f.rayCluster == "") {
		return errors.New("flags --kubeconfig and --raycluster: must be set together")
	}
	if f.kubeconfig != "" && f.stack != "" {
		return errors.New("flag --stack: not allowed with --kubeconfig")
	}
	ctx, out := command.Context(), command.OutOrStdout()
	for {
		seen, err := f.read(ctx)
		if err != nil {
			return err
		}
		if err := f.write(out, seen); err != nil {
			return err
		}
		if !f.watch || seen.Final {
			if code := seen.ExitCode(); f.exitCode && code != 0 {
				return &exit.Error{Code: code}
			}
			return nil
		}
		if err := rayapi.Sleep(ctx, watchPause); err != nil {
			return fmt.Errorf("waiting for the job: %w", err)
		}
	}
}

func (f *statusFlags) read(ctx context.Context) (status.Status, error) {
	target, err := f.target(ctx)
	if err != nil {
		return status.Status{}, err
	}
	cluster, err := kube.Connect(target.Kubeconfig)
	if err != nil {
		return status.Status{}, err
	}
	return status.Read(ctx, cluster, target, time.Now()), nil
}

func (f *statusFlags) target(ctx context.Context) (status.Target, error) {
	if f.kubeconfig != "" {
		text, err := os.ReadFile(f.kubeconfig)
		if err != nil {
			return status.Target{}, fmt.Errorf("reading --kubeconfig: %w", err)
		}
		return status.Target{Kubeconfig: string(text), Namespace: f.namespace, RayCluster: f.rayCluster}, nil
	}
	args := []string{"stack", "export", "--show-secrets"}
	if f.stack != "" {
		args = append(args, "--stack", f.stack)
	}
	pulumi := exec.CommandContext(ctx, "pulumi", args...)
	var stderr bytes.Buffer
	pulumi.Stderr = &stderr
	exported, err := pulumi.Output()
	if err != nil {
		return status.Target{}, fmt.Errorf("reading the stack: pulumi %s: %w: %s; "+
			"next: run it in the folder with Pulumi.yaml, or use --kubeconfig and --raycluster",
			strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return status.ReadStack(exported)
}

func (f *statusFlags) write(out io.Writer, seen status.Status) error {
	if f.asJSON {
		if err := json.NewEncoder(out).Encode(seen); err != nil {
			return fmt.Errorf("writing the status: %w", err)
		}
		return nil
	}
	if f.watch {
		fmt.Fprintln(out, time.Now().Format(time.DateTime))
	}
	return seen.Write(out)
}
