package nccl_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Longer runs: go test ./nccl -run Property -rapid.seed=$RANDOM -rapid.checks=20000, and
// go test ./nccl -run SeedSweep -sweep.runs=50000 -sweep.from=1000.
var (
	sweepRuns = flag.Uint64("sweep.runs", 1500, "synthetic runs that the seed sweep judges")
	sweepFrom = flag.Uint64("sweep.from", 0, "first seed of the sweep")
	sweepKeep = flag.String("sweep.keep", "", "folder to write the files of misjudged runs to")
)

// TestMain gives rapid a seed, so that a commit passes or fails whenever it is tested. Another seed
// searches for more.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == seed.DefValue {
		if err := seed.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// judgeSynthetic judges the files of a synthetic run with what its truth says
// the judge knows.
func judgeSynthetic(files []synth.File, truth synth.Truth) (report.Report, error) {
	sources := make([]nccl.Source, len(files))
	for i, f := range files {
		sources[i] = nccl.BytesSource(f.Name, f.Data)
	}
	result, err := nccl.Judge(context.Background(), sources, nccl.Options{
		WorldSize: truth.ExpectWorldSize, Nodes: truth.ExpectNodes, Completed: truth.Completed,
	})
	if err != nil {
		return result, fmt.Errorf("judging a synthetic run: %w", err)
	}
	return result, nil
}

// TestPropertyVerdictIsTruth draws recipes, and shrinks the one that the judge
// gets wrong.
func TestPropertyVerdictIsTruth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		run := synth.Draw(uint64(pick(1<<16)), true, pick)
		files, truth := run.Generate()
		result, err := judgeSynthetic(files, truth)
		if err != nil {
			t.Fatalf("%v\nrun: %+v", err, run.Normal())
		}
		if !truth.Allows(result.Verdict) {
			t.Fatalf("verdict %q, want one of %q\nrun: %+v\nfindings: %+v", result.Verdict, truth.Accept, run.Normal(), result.Findings)
		}
	})
}

// TestSeedSweep judges many recipes of all sizes. A pass of a run that is not
// proven to be on EFA is the one mistake that a gate must not make, so it is
// named first; beyond that, every strict truth must be met.
func TestSeedSweep(t *testing.T) {
	t.Parallel()
	wrong, silent := 0, 0
	for seed := *sweepFrom; seed < *sweepFrom+*sweepRuns; seed++ {
		run := synth.Random(seed, seed%50 != 0)
		files, truth := run.Generate()
		result, err := judgeSynthetic(files, truth)
		require.NoError(t, err, "seed %d", seed)
		if truth.Allows(result.Verdict) {
			if !reports(result, truth.Codes) && silent < 10 {
				silent++
				t.Errorf("seed %d: no finding of %q\nrun: %+v\nfindings: %q", seed, truth.Codes, run.Normal(), codesOf(result))
				keep(t, seed, files)
			}
			continue
		}
		if wrong++; result.Verdict == report.EFA {
			t.Errorf("seed %d: FALSE PASS, want one of %q\nrun: %+v\nnext: %+v", seed, truth.Accept, run.Normal(), run.Normal().Next)
		} else if wrong <= 10 {
			t.Errorf("seed %d: verdict %q, want one of %q\nrun: %+v\nfirst findings: %+v", seed, result.Verdict, truth.Accept, run.Normal(), result.Findings[:min(2, len(result.Findings))])
		}
		keep(t, seed, files)
	}
	if wrong > 0 {
		t.Errorf("%d of %d runs are misjudged", wrong, *sweepRuns)
	}
}

// reports reports whether the report has one of the codes, or none is required.
func reports(r report.Report, wanted []string) bool {
	for _, code := range codesOf(r) {
		if slices.Contains(wanted, code) {
			return true
		}
	}
	return len(wanted) == 0
}

func codesOf(r report.Report) []string {
	codes := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		codes[i] = f.Code
	}
	return codes
}

func keep(t *testing.T, seed uint64, files []synth.File) {
	t.Helper()
	if *sweepKeep == "" {
		return
	}
	for _, f := range files {
		path := filepath.Join(*sweepKeep, fmt.Sprint(seed), f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, f.Data, 0o600))
	}
}

// TestLargestJobs judges the ends of the range of topologies.
func TestLargestJobs(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		fabric synth.Fabric
		damage synth.Damage
		layout synth.Layout
		want   report.Verdict
	}{
		{"merged on EFA", synth.OnEFA, synth.Whole, synth.Merged, report.EFA},
		{"one rank of 4096 on sockets", synth.SocketOneRankConnected, synth.Whole, synth.PerProcess, report.Mixed},
		{"one rank of 4096 missing", synth.OnEFA, synth.RankMissing, synth.PerProcess, report.Inconclusive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := synth.Run{
				Seed: 9, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
				Nodes: 512, GPUs: 8, Channels: 2, Hosts: synth.Distinct, Groups: synth.World, Launcher: synth.Plain,
				Stamp: synth.NoStamp, Layout: c.layout, Text: synth.Clean, Fabric: c.fabric, Damage: c.damage,
			}
			files, truth := run.Generate()
			require.Equal(t, c.want, truth.Verdict)
			result, err := judgeSynthetic(files, truth)
			require.NoError(t, err)
			require.Equal(t, c.want, result.Verdict)
		})
	}
}
