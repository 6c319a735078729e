// Command pulumi-resource-raytrain is the Pulumi provider of TrainingJob, the gate that fails an update
// unless the training used EFA.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	p "github.com/pulumi/pulumi-go-provider"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/provider/freshness"
	"github.com/ray-train-efa/ray-train-efa/provider/gate"
	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

const (
	name    = "raytrain"
	version = "0.1.0"
	// rehearsalVariable is set in every process of a rehearsal.
	rehearsalVariable = "RAYTRAIN_REHEARSAL_DIR"
)

// builtFrom is set by the linker: the hash of the sources.
var builtFrom string //nolint:gochecknoglobals // the linker sets only globals

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-resource-raytrain:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	err = freshness.Check(binary, builtFrom)
	if err != nil || slices.Contains(os.Args[1:], freshness.CheckFlag) {
		return err
	}
	code, err := train.Zip()
	if err != nil {
		return err
	}
	return p.RunProvider(ctx, name, version, gate.NewProvider(gate.Environment{
		Connect: func(kubeconfig string) (gate.Cluster, error) {
			cluster, err := kube.Connect(kubeconfig)
			if err != nil { // a nil *kube.Cluster would be a non-nil gate.Cluster
				return nil, err
			}
			return cluster, nil
		},
		Code: code, Entrypoint: train.Entrypoint,
		Rehearsed:      os.Getenv(rehearsalVariable) != "",
		AbandonCluster: os.Getenv(gate.AbandonVariable),
		Now:            time.Now,
		Sleep:          rayapi.Sleep,
		Info:           func(ctx context.Context, text string) { p.GetLogger(ctx).Info(text) },
		Warn:           func(ctx context.Context, text string) { p.GetLogger(ctx).Warning(text) },
		Events:         eventlog.FromEnvironment(),
		Log:            func(ctx context.Context, line string) { p.GetLogger(ctx).InfoStatus(line) },
	}))
}
