package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzScan feeds arbitrary bytes to the line parser: it must not panic, must
// point only into its input, and must not find more records than there are
// NCCL tokens.
func FuzzScan(f *testing.F) {
	recorded, err := filepath.Glob("../../testdata/nccl-logs/*/*.log")
	if err != nil || len(recorded) == 0 {
		f.Fatalf("finding recorded logs: %v, %d", err, len(recorded))
	}
	for _, path := range recorded {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for i, l := range bytes.SplitAfter(data, []byte{'\n'}) {
			if i%7 == 0 {
				f.Add(l, []byte("h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n"))
			}
		}
	}
	f.Add([]byte("1 | 2026-01-01T00:00:00h:1:2 [-1] NCCL INFO Using network AWS Libfabrich:1:1 [0] f(a, b::c):3 NCCL WARN NET/OFI"), []byte{})
	f.Add([]byte("[1,3]<stdout>:h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [receive] via NET/a b/3(2)/GDRDMA(PCI)/Shared/flush=x \r\n"), []byte{0xff})
	f.Add([]byte("h:1:1 [0] Nh:2:2 [0] NCCL INFO Connected all trees\n"), []byte("CCL INFO Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0\n"))
	f.Add([]byte("h:1:1 [0] Nh:2:2 [0] NCCL INFO Connected all trees\nCCL INFO Channel 01/0 : 1[0] -> 0[0] [send] via NET/Socket/0\n"), []byte{})
	g := NewGrammar()
	f.Fuzz(func(t *testing.T, data, ahead []byte) {
		b := &Block{}
		b.Reset(bytes.Clone(data), ahead)
		NewScanner(g).Scan(b)
		if tokens := bytes.Count(data, []byte(token)); len(b.Events) > tokens {
			t.Fatalf("%d events from %d tokens", len(b.Events), tokens)
		}
		if b.Lines != bytes.Count(data, []byte{'\n'}) {
			t.Fatalf("%d lines counted, %d there", b.Lines, bytes.Count(data, []byte{'\n'}))
		}
		for i := range b.Events {
			e := &b.Events[i]
			if e.From < -1 || int(e.From) >= len(b.Origins) {
				t.Fatalf("event %d names origin %d of %d", i, e.From, len(b.Origins))
			}
			if e.Line < 0 || e.Line > b.Lines {
				t.Fatalf("event %d is at line %d of %d", i, e.Line, b.Lines)
			}
			if len(e.Text) > len(data)+len(ahead) {
				t.Fatalf("event %d has %d bytes, the input %d", i, len(e.Text), len(data))
			}
			if e.Kind == KindChannel && (e.Ch.from < 0 || e.Ch.Conn < 0) {
				t.Fatalf("event %d has a negative number: %+v", i, e.Ch)
			}
		}
	})
}
