package drill_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/drill"
	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func python(t *testing.T) string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	tools, err := toolchain.LocateInstalled(root)
	require.NoError(t, err)
	return filepath.Join(tools.RayVenv, "bin", "python")
}

var all = flag.Bool("drill.all", false, "run every case of a CPU, not only the one that needs most") //nolint:gochecknoglobals // a flag

// TestDrillOnACPU runs real Ray and torch: a rank is killed, and all ranks continue at the last
// checkpoint in the storage. With -drill.all also healthy runs, and a second job that continues at
// the checkpoint of a first one.
func TestDrillOnACPU(t *testing.T) {
	host, err := drill.Probe(t.Context(), python(t))
	require.NoError(t, err)
	require.NoError(t, host.Check(train.CPU))

	cases := []string{"killed"}
	if *all {
		cases = []string{"fsdp2", "ddp", "resumed", "killed"}
	}
	outcomes, err := drill.Run(t.Context(), drill.Options{
		Python: python(t), Device: train.CPU, Ranks: 2, Model: "tiny", Steps: 8, SequenceLength: 32,
		Cases: cases, Timeout: 10 * time.Minute, Dir: t.TempDir(), Log: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	require.Len(t, outcomes, len(cases))
	for _, outcome := range outcomes {
		require.Empty(t, outcome.Error, outcome.Case)
		assert.True(t, outcome.Expected, "%+v", outcome)
		assert.Equal(t, rayapi.Succeeded, outcome.Status, outcome.Case)
		assert.Equal(t, report.Inconclusive, outcome.Verdict, "gloo leaves no evidence of NCCL")
		text, err := os.ReadFile(outcome.Report)
		require.NoError(t, err)
		require.NotNil(t, outcome.Result, "%s: %s", outcome.Case, text)
		assert.Positive(t, *outcome.Result.StepsPerSecond)
	}
	if *all {
		resumed := outcomes[len(outcomes)-2].Result
		assert.Equal(t, 4, resumed.ResumedAtStep)
		assert.Nil(t, resumed.SecondsToRecover, "no rank restarted")
	}
	killed := outcomes[len(outcomes)-1].Result
	assert.Equal(t, 4, killed.ResumedAtStep, "the last checkpoint before the rank was killed at step 5")
	require.NotNil(t, killed.SecondsToRecover)
	assert.Positive(t, *killed.SecondsToRecover)
	assert.Positive(t, killed.CheckpointSeconds)
	require.NotNil(t, killed.Goodput)
	assert.Less(t, *killed.Goodput, 1.0)
}

func TestProbeOfAnInterpreterWithoutRay(t *testing.T) {
	t.Parallel()
	host, err := drill.Probe(t.Context(), script(t, `echo noise; echo '{"ray": "", "torch": "", "gpus": []}'`))
	require.NoError(t, err)
	err = host.Check(train.CUDA)
	require.ErrorIs(t, err, drill.ErrHost)
	assert.ErrorContains(t, err, "Python has no Ray")
	assert.ErrorContains(t, err, "Python has no torch")

	_, err = drill.Probe(t.Context(), script(t, "echo broken >&2; exit 3"))
	assert.ErrorContains(t, err, "broken")

	for device, says := range map[train.Device]string{
		train.CUDA: "torch finds no GPU; next: run it on a host with GPUs, or raytrain drill --device cpu",
		train.CPU:  "",
	} {
		err := drill.Host{Ray: "2.58.0", Torch: "2.13.0"}.Check(device)
		if says == "" {
			require.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, says)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return path
}

func TestOptionsThatStartNothing(t *testing.T) {
	t.Parallel()
	good := drill.Options{
		Python: "/absent", Device: train.CPU, Ranks: 2, Model: "tiny", Steps: 2, SequenceLength: 8, Log: func(string) {},
	}
	for says, change := range map[string]func(*drill.Options){
		"1 ranks; give 2 or more":                      func(o *drill.Options) { o.Ranks = 1 },
		`--case "efa": must be one of ["fsdp2" "ddp" `: func(o *drill.Options) { o.Cases = []string{"efa"} },
		"steps 1 is not allowed":                       func(o *drill.Options) { o.Steps = 1 },
		"device tpu is not allowed":                    func(o *drill.Options) { o.Device = "tpu" },
	} {
		options := good
		change(&options)
		_, err := drill.Run(t.Context(), options)
		require.ErrorIs(t, err, drill.ErrOptions)
		assert.ErrorContains(t, err, says)
	}
	_, err := drill.Run(t.Context(), good)
	assert.ErrorContains(t, err, `preparing the interpreter "/absent"`)
}

// On a CPU no case may claim a verdict about NCCL.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range drill.Cases(train.CPU) {
		assert.Equal(t, report.Inconclusive, c.Verdict, c.Name)
	}
	want := map[string]report.Verdict{"fallback": report.NotEFA, "pinned": report.Inconclusive}
	for _, c := range drill.Cases(train.CUDA) {
		assert.NotEqual(t, report.EFA, c.Verdict, c.Name)
		if verdict, ok := want[c.Name]; ok {
			assert.Equal(t, verdict, c.Verdict, c.Name)
			delete(want, c.Name)
		}
	}
	assert.Empty(t, want)
}
