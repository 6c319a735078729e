package synth_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// update rewrites the golden files: go test ./nccl/synth -update.
var update = flag.Bool("update", false, "rewrite testdata/*.golden")

func base() synth.Run {
	return synth.Run{
		Seed: 4, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 2, Channels: 1, Hosts: synth.Distinct, Groups: synth.World, Launcher: synth.Plain,
		Stamp: synth.NoStamp, Layout: synth.PerProcess, Text: synth.Clean, Fabric: synth.OnEFA, Damage: synth.Whole,
		Expect: synth.Nothing, Trees: true,
	}
}

func with(change func(*synth.Run)) synth.Run {
	r := base()
	change(&r)
	return r
}

func TestGolden(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		run  synth.Run
		want report.Verdict
	}{
		{"pinned-image-on-efa", base(), report.EFA},
		{"device-missing-merged-ray", with(func(r *synth.Run) {
			r.Fabric, r.Layout, r.Launcher = synth.DeviceMissing, synth.Merged, synth.Ray
		}), report.NotEFA},
		{"one-rank-on-sockets-split", with(func(r *synth.Run) {
			r.Fabric, r.Groups, r.GPUs = synth.SocketOneRankConnected, synth.Split, 1
		}), report.Mixed},
		{"oldest-tcp", with(func(r *synth.Run) {
			r.NCCL, r.Plugin = synth.Version{Major: 2, Minor: 4, Patch: 8}, synth.Version{Major: 1, Minor: 4}
			r.Fabric, r.Trees = synth.ProviderTCP, false
		}), report.NotEFA},
		{"never-connected-stamped-mpi", with(func(r *synth.Run) {
			r.Damage, r.Stamp, r.Launcher, r.GPUs = synth.NeverConnected, synth.Bare, synth.MPI, 1
		}), report.Inconclusive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files, truth := c.run.Generate()
			assert.Equal(t, c.want, truth.Verdict)
			var got bytes.Buffer
			fmt.Fprintf(&got, "truth: %s, %d ranks, %d nodes\n", truth.Verdict, truth.WorldSize, truth.Nodes)
			for _, f := range files {
				fmt.Fprintf(&got, "==> %s\n%s", f.Name, f.Data)
			}
			path := filepath.Join("testdata", c.name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "run: go test ./nccl/synth -update")
			assert.Equal(t, string(want), got.String())
		})
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := synth.Random(seed, true)
		a, ta := r.Generate()
		b, tb := r.Generate()
		require.Equal(t, ta, tb, "seed %d", seed)
		require.Equal(t, a, b, "seed %d", seed)
	}
}

// TestTruthCoversAllVerdicts guards the drawing: a change that makes a verdict
// rare would make the property tests blind to it.
func TestTruthCoversAllVerdicts(t *testing.T) {
	t.Parallel()
	const runs = 1500
	count := map[report.Verdict]int{}
	strict := 0
	for seed := range uint64(runs) {
		_, truth := synth.Random(seed, true).Generate()
		count[truth.Verdict]++
		if len(truth.Accept) == 1 {
			strict++
		}
	}
	for _, v := range []report.Verdict{report.EFA, report.NotEFA, report.Mixed, report.Inconclusive} {
		assert.Greater(t, count[v], runs/25, "verdict %s of %v", v, count)
	}
	assert.Greater(t, strict, runs/2, "runs with one right answer")
}

// TestTruthNeverAllowsEFAOffEFA holds the rule that matters most against the
// generator itself.
func TestTruthNeverAllowsEFAOffEFA(t *testing.T) {
	t.Parallel()
	onEFA := map[synth.Fabric]bool{
		synth.OnEFA: true, synth.OnEFAAfterRDMAAttempt: true, synth.OnEFAReselected: true, synth.OnEFAStacked: true,
	}
	for seed := range uint64(1500) {
		r := synth.Random(seed, true)
		_, truth := r.Generate()
		oneNetwork := r.OneProcess && r.Damage == synth.NetworkLineLost
		if r.Next == nil && !oneNetwork && (!onEFA[r.Fabric] || r.Damage != synth.Whole) {
			assert.False(t, truth.Allows(report.EFA), "seed %d: %+v", seed, r)
		}
	}
}
