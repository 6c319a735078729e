package render_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// update rewrites the golden files: go test ./nccl/render -update.
	update = flag.Bool("update", false, "rewrite testdata/*.golden")
	// pages keeps the pages that the tests make, to be looked at.
	pages = flag.String("pages", "", "folder to write the tests' pages to")
)

func ref(n int) *int { return &n }

// ring returns a report on a job whose ranks form a ring, as a judge would make it.
func ring(nodes, gpus int) report.Report {
	size := nodes * gpus
	r := report.Report{
		Verdict: report.EFA, WorldSize: ref(size), RanksSeen: ref(size), Nodes: ref(nodes),
		Communicators: []report.Communicator{{
			ID: "0xd46684e2f6f9e04", Size: ref(size), Nodes: ref(nodes), RanksSeen: size,
			Network: "Libfabric", Provider: "efa",
			Channels: map[string]int{"NET/Libfabric": 4 * nodes, "P2P": 2 * size}, Connected: true,
			Run: 1, Traffic: report.TrafficEFA,
		}},
	}
	for i := range size {
		host := fmt.Sprintf("ip-10-0-%d-%d", i/gpus/200, i/gpus%200+10)
		rk := report.Rank{
			Rank: i, Host: host, PID: 4000 + i, File: fmt.Sprintf("rank%d.%s.log", i, host), Network: "Libfabric",
			Provider: "efa", Channels: map[string]int{"P2P": 2}, Run: 1, Traffic: report.TrafficLocal,
			Communicator: r.Communicators[0].ID,
		}
		next := (i + 1) % size
		kind, traffic := "P2P", report.TrafficLocal
		if next/gpus != i/gpus {
			kind, traffic = "NET/Libfabric", report.TrafficEFA
			rk.Channels, rk.Traffic = map[string]int{"NET/Libfabric": 2}, traffic
			back := (i/gpus*gpus + size - gpus) % size
			r.Edges = append(r.Edges, edge(i/gpus*gpus, back, kind, 1, traffic))
		}
		r.Edges = append(r.Edges, edge(i, next, kind, 2, traffic))
		r.Ranks = append(r.Ranks, rk)
	}
	return r
}

func edge(from, to int, kind string, channels int, traffic report.Traffic) report.Edge {
	return report.Edge{From: from, To: to, Transport: kind, Channels: channels, Traffic: traffic}
}

// broken returns a ring in which one rank is on sockets, one over tcp and one missing.
func broken(nodes, gpus int) report.Report {
	r := ring(nodes, gpus)
	r.Verdict = report.Mixed
	bad, tcp := gpus-1, gpus*(nodes/2)+gpus-1
	for i := range r.Edges {
		if e := &r.Edges[i]; e.From == bad && strings.HasPrefix(e.Transport, "NET/") {
			e.Transport, e.Traffic = "NET/Socket", report.TrafficOther
		} else if e.From == tcp && e.Traffic == report.TrafficEFA {
			e.Traffic = report.TrafficOther
		}
	}
	r.Ranks[bad].Network, r.Ranks[bad].Provider = "Socket", ""
	r.Ranks[bad].Channels = map[string]int{"NET/Socket": 2}
	r.Ranks[tcp].Provider = "tcp;ofi_rxm"
	r.Ranks[bad].Traffic, r.Ranks[tcp].Traffic = report.TrafficOther, report.TrafficOther
	missing := gpus + 1
	r.Ranks = append(r.Ranks[:missing:missing], r.Ranks[missing+1:]...)
	r.RanksSeen = ref(len(r.Ranks))
	r.Communicators[0].RanksSeen = len(r.Ranks)
	r.Communicators[0].Network, r.Communicators[0].Traffic = "Libfabric, Socket", report.TrafficOther
	r.Communicators[0].Channels["NET/Socket"] = 2
	r.Findings = []report.Finding{
		{
			Code: "rank-missing", Severity: report.Error, Rank: ref(missing),
			Cause: "The communicator has more ranks than the logs show.",
			Next:  "Collect the file of every worker: ls /tmp/ray/session_latest/logs/<submission id>/",
		},
		{
			Code: "version-mix", Severity: report.Note, File: "rank0.log", Line: 5, Text: "NCCL version 2.29.7+cuda13.0",
			Cause: "Two NCCL versions run in one job.", Next: "Use one image for all ranks.",
		},
		{
			Code: "inter-node-not-efa", Severity: report.Error, Rank: ref(bad), File: r.Ranks[bad].File, Line: 42,
			Text:  "ip-10-0-0-10:4003:4003 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [send] via NET/Socket/0",
			Cause: "This rank's inter-node channels use kernel sockets.",
			Next:  "Look for the plugin's warnings above this line.",
		},
	}
	return r
}

// reinitialized returns a job whose second communicator fell back to sockets, together with another
// run.
func reinitialized() report.Report {
	r := ring(2, 1)
	r.Verdict = report.Mixed
	for i := range r.Ranks {
		k := &r.Ranks[i]
		k.Communicator, k.Network, k.Traffic = "0x71c5", "Socket", report.TrafficOther
		k.Channels = map[string]int{"NET/Socket": 2}
	}
	r.Communicators = append(r.Communicators, report.Communicator{
		ID: "0x71c5", Size: ref(2), Nodes: ref(2), RanksSeen: 2, Network: "Socket", Connected: true, Run: 1,
		Channels: map[string]int{"NET/Socket": 4}, Traffic: report.TrafficOther,
	}, report.Communicator{
		ID: "0x90aa", Size: ref(2), Nodes: ref(2), RanksSeen: 2, Network: "Libfabric", Provider: "efa",
		Connected: true, Run: 2, Channels: map[string]int{"NET/Libfabric": 4}, Traffic: report.TrafficEFA,
	})
	r.Findings = []report.Finding{
		{
			Code: "mixed-transports", Severity: report.Error,
			Cause: "part used EFA and part did not", Next: "compare the ranks",
		},
		{
			Code: "several-runs", Severity: report.Warning,
			Cause: "more than one run", Next: "judge one run at a time",
		},
		{
			Code: "proof-channel", Severity: report.Note, Rank: ref(0), File: "rank0.log", Line: 90, Next: "nothing to do",
			Text:  "ip-10-0-0-10:4000:4000 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
			Cause: "an inter-node channel and its transport",
		},
	}
	return r
}

// hostile holds text that must not become markup or break XML.
func hostile() report.Report {
	r := ring(2, 1)
	r.Verdict = report.Inconclusive
	bad := "<script>alert(1)</script>\"'&\x00\x1b[31m\xff"
	r.Ranks[0].Host, r.Ranks[0].Network, r.Ranks[1].File = bad, bad, bad
	r.Ranks[1].Channels, r.Ranks[1].Traffic = map[string]int{"NET/" + bad: 1}, report.TrafficOther
	r.Communicators[0].ID = bad
	r.Edges[0].Transport = "NET/" + bad
	r.Findings = []report.Finding{{
		Code: bad, Severity: report.Error, File: bad, Text: bad, Cause: bad, Next: bad, Rank: ref(1),
	}}
	return r
}

// options returns those of a report made on a fixed day.
func options() render.Options {
	return render.Options{
		Made: time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC), Inputs: []string{"logs/", "-"},
	}
}

func htmlOf(t *testing.T, name string, r report.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, render.HTML(&b, r, options()))
	if *pages != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*pages, name+".html"), b.Bytes(), 0o600))
	}
	return b.String()
}

func TestHTMLIsBoundedAndSelfContained(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`(?i)(src|href)=|url\(|@import|https?://|<script|<link|<iframe`)
	cases := []struct {
		name     string
		report   report.Report
		mostMiB  float64
		pictures int
	}{
		{"8-ranks", ring(2, 4), 0.1, 3},
		{"8-ranks-broken", broken(2, 4), 0.1, 3},
		{"4096-ranks", ring(512, 8), 4, 2},
		{"4096-ranks-broken", broken(512, 8), 4, 2},
		{"16384-ranks", ring(2048, 8), 6, 2},
		{"hostile", hostile(), 0.1, 3},
		{"empty", report.Report{Verdict: report.Inconclusive}, 0.1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := htmlOf(t, c.name, c.report)
			assert.Less(t, float64(len(got))/(1<<20), c.mostMiB)
			assert.Empty(t, outside.FindString(got), "nothing may be loaded from elsewhere")
			assert.Equal(t, c.pictures, strings.Count(got, "<figure>"))
			assert.NotContains(t, got, "ZgotmplZ", "the template engine refused a value")
			assert.NotContains(t, got, "\x1b")
			assert.Contains(t, got, "verdict: <b class=\"mono\">"+string(c.report.Verdict)+"</b>")
		})
	}
}

func TestHTMLShowsTheOneBadPairAmong4096Ranks(t *testing.T) {
	t.Parallel()
	good, bad := htmlOf(t, "good", ring(512, 8)), htmlOf(t, "bad", broken(512, 8))
	drawn := regexp.MustCompile(`<rect class="other" x="[^"]+" y="[^"]+" width="8" height="8">` +
		`<title>ip-10-0-0-10 to ip-10-0-0-11, 2 x NET/Socket`)
	assert.False(t, drawn.MatchString(good), "drawn for the good job")
	assert.True(t, drawn.MatchString(bad), "not drawn for the bad job")
	assert.Equal(t, 1, strings.Count(good, `<rect class="missing"`), "legend only")
	assert.Equal(t, 2, strings.Count(bad, `<rect class="missing"`), "legend and one tile")
}

func TestHTMLSharesRanksOutWhereHostsShareAName(t *testing.T) {
	t.Parallel()
	r := ring(2, 4)
	for i := range r.Ranks {
		r.Ranks[i].Host = "vm"
	}
	got := htmlOf(t, "same-name", r)
	assert.Contains(t, got, "Hosts share names, so each node is drawn with an equal share")
	assert.Contains(t, got, ">node 1</text>")
}

// TestHTMLOfJudgedRuns draws what the judge itself reports: the pictures need
// the connections between ranks.
func TestHTMLOfJudgedRuns(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name        string
		nodes, gpus int
		fabric      synth.Fabric
		damage      synth.Damage
		pictures    int
		other       string
	}{
		{"judged-8-on-efa", 2, 4, synth.OnEFA, synth.Whole, 3, ""},
		{"judged-8-mixed", 2, 4, synth.SocketOneRankConnected, synth.RankMissing, 3, "NET/Socket"},
		{"judged-4096-mixed", 512, 8, synth.SocketOneRankConnected, synth.NodeMissing, 2, "NET/Socket"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files, truth := synth.Run{
				Seed: 6, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
				Nodes: c.nodes, GPUs: c.gpus, Channels: 2, Trees: true, Layout: synth.PerProcess,
				Fabric: c.fabric, Damage: c.damage,
			}.Generate()
			sources := make([]nccl.Source, len(files))
			for i, f := range files {
				sources[i] = nccl.BytesSource(f.Name, f.Data)
			}
			result, err := nccl.Judge(t.Context(), sources, nccl.Options{})
			require.NoError(t, err)
			require.Equal(t, truth.Verdict, result.Verdict)
			got := htmlOf(t, c.name, result)
			assert.Equal(t, c.pictures, strings.Count(got, "<figure>"))
			assert.Less(t, len(got), 4<<20)
			drawn := regexp.MustCompile(`<rect class="other"[^>]*><title>[^<]* to [^<]*NET/Socket`).MatchString(got)
			assert.Equal(t, c.other != "", drawn, "a cell of the matrix on sockets")
		})
	}
}

// TestGoldens holds every format of a few reports. Review the diff after -update.
func TestGoldens(t *testing.T) {
	t.Parallel()
	rehearsed := ring(2, 2)
	rehearsed.Rehearsed = true
	for name, r := range map[string]report.Report{
		"efa": ring(2, 2), "mixed": broken(2, 4), "hostile": hostile(), "rehearsed": rehearsed,
		"reinitialized": reinitialized(), "nothing": {Verdict: report.Inconclusive},
	} {
		for _, format := range render.Formats() {
			t.Run(name+" "+format.Name, func(t *testing.T) {
				t.Parallel()
				var b bytes.Buffer
				require.NoError(t, format.Write(&b, r, options()))
				path := filepath.Join("testdata", name+"."+format.Name+".golden")
				if *update {
					require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err, "run: go test ./nccl/render -update")
				assert.Equal(t, string(want), b.String())
				if format.Name != "json" { // whose readers decode control characters
					assert.NotContains(t, b.String(), "\x1b")
				}
			})
		}
	}
}

func TestJUnitCountsFailures(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name         string
		report       report.Report
		failures     int
		mustMention  string
		neverMention string
	}{
		{"efa", ring(2, 2), 0, "rank 3", "<failure"},
		{"mixed", broken(2, 4), 5, "inter-node-not-efa", "\x1b"},
		{"hostile", hostile(), 2, "&lt;script&gt;", "<script"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.NoError(t, render.JUnit(&b, c.report, options()))
			assert.Equal(t, c.failures, strings.Count(b.String(), "<failure"))
			assert.Contains(t, b.String(), fmt.Sprintf("failures=\"%d\"", c.failures))
			assert.Contains(t, b.String(), c.mustMention)
			assert.NotContains(t, b.String(), c.neverMention)
			wellFormed(t, b.Bytes())
		})
	}
}

func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}
