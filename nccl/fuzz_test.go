package nccl_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
)

// refused lists small synthetic runs that must never pass, as seeds. Left out
// are those in which a few lines that disagree with a proof are all that speaks
// against it: without these lines they are proven.
func refused() [][]byte {
	contradicted := map[synth.Fabric]bool{
		synth.ProviderReselectedTCP: true, synth.InitFailureContradicted: true,
		synth.SocketOneChannel: true, synth.SocketSecondComm: true,
	}
	var seeds [][]byte
	for _, f := range synth.Fabrics() {
		if contradicted[f] {
			continue
		}
		for _, d := range []synth.Damage{synth.Whole, synth.RankMissing, synth.NeverConnected} {
			run := synth.Run{
				Seed: 7, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
				Nodes: 2, GPUs: 1, Channels: 1, Layout: synth.Merged, Fabric: f, Damage: d,
			}
			files, truth := run.Generate()
			if !truth.Allows(report.EFA) {
				seeds = append(seeds, files[0].Data)
			}
		}
	}
	return seeds
}

// FuzzJudgeArbitrary feeds arbitrary bytes to the whole judge: it must not
// panic, must not fail, must keep its memory within a multiple of the input,
// and must not pass bytes that hold no complete proof. Any pass needs at least
// two ranks' worth of three kinds of line, which the check below counts.
func FuzzJudgeArbitrary(f *testing.F) {
	recorded, err := filepath.Glob("testdata/nccl-logs/*/*.log")
	if err != nil || len(recorded) == 0 {
		f.Fatalf("finding recorded logs: %v, %d", err, len(recorded))
	}
	for _, path := range recorded {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 1<<13)])
	}
	for _, s := range refused() {
		f.Add(s)
	}
	f.Add([]byte("\x1b[36m(x pid=1)\x1b[0m h:1:1 [0] NCCL INFO Using network \xff\r\nh:1:1 [0] a:1 NCCL WARN \x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result := judgeBytes(t, data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20+64*uint64(len(data)) {
			t.Fatalf("%d bytes allocated for %d bytes of input", used, len(data))
		}
		if result.Verdict == report.EFA && !couldBeProven(data) {
			t.Fatalf("passed bytes without a proof: %q", data)
		}
	})
}

// couldBeProven reports whether data holds the least that a proof for two ranks consists of.
func couldBeProven(data []byte) bool {
	lower := bytes.ToLower(data)
	return bytes.Count(lower, []byte("selected provider is efa")) >= 1 &&
		bytes.Count(data, []byte("Using network ")) >= 2 &&
		bytes.Count(data, []byte("via NET/")) >= 2 &&
		bytes.Count(data, []byte("Connected all ")) >= 2
}

// FuzzJudgeMutatedRefusal cuts, repeats and moves parts of a refused log, which
// can destroy evidence and never make any: whatever is left must not pass.
func FuzzJudgeMutatedRefusal(f *testing.F) {
	seeds := refused()
	for i := range seeds {
		f.Add(uint16(i), []byte{0, 9, 40, 200, 7})
	}
	f.Fuzz(func(t *testing.T, which uint16, edits []byte) {
		lines := bytes.SplitAfter(seeds[int(which)%len(seeds)], []byte("\n"))
		for i := 0; i+2 < len(edits) && i < 60 && len(lines) > 1; i += 3 {
			at, to := int(edits[i+1])%len(lines), int(edits[i+2])%len(lines)
			switch edits[i] % 4 {
			case 0: // lose a line
				lines = append(lines[:at:at], lines[at+1:]...)
			case 1: // lose the end of a line
				lines[at] = lines[at][:int(edits[i+2])%(len(lines[at])+1)]
			case 2: // lose the newline
				lines[at] = bytes.TrimRight(lines[at], "\r\n")
			case 3: // repeat a line, as overlapping collections do
				lines = append(lines[:to:to], append([][]byte{lines[at]}, lines[to:]...)...)
			}
		}
		if data := bytes.Join(lines, nil); judgeBytes(t, data).Verdict == report.EFA {
			t.Fatalf("passed a damaged log of a refused run:\n%s", data)
		}
	})
}

// FuzzLineInRefusedLog puts one arbitrary line anywhere into a log that must
// not pass: a single line can never be all that a proof lacked.
func FuzzLineInRefusedLog(f *testing.F) {
	seeds := refused()
	lines := map[string]bool{}
	for i, s := range seeds {
		for n, l := range bytes.Split(s, []byte("\n")) {
			shape := digits.ReplaceAllString(string(l), "0")
			if !lines[shape] {
				lines[shape] = true
				f.Add(uint16(i), uint16(n), l)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, at uint16, line []byte) {
		if bytes.Count(line, []byte("NCCL ")) > 1 {
			return // more than one record
		}
		old := bytes.SplitAfter(seeds[int(which)%len(seeds)], []byte("\n"))
		n := int(at) % len(old)
		data := bytes.Join([][]byte{bytes.Join(old[:n], nil), line, []byte("\n"), bytes.Join(old[n:], nil)}, nil)
		if judgeBytes(t, data).Verdict == report.EFA {
			t.Fatalf("line %q made a refused log pass:\n%s", line, data)
		}
	})
}

// digits makes lines of one shape equal.
var digits = regexp.MustCompile(`[0-9a-f]+`)

func judgeBytes(t *testing.T, data []byte) report.Report {
	t.Helper()
	result, err := nccl.Judge(context.Background(),
		[]nccl.Source{nccl.BytesSource("fuzz.log", data)}, nccl.Options{})
	if err != nil {
		t.Fatalf("judging %d bytes: %v", len(data), err)
	}
	return result
}
