package synth

import (
	"bytes"
	"strings"
)

// mangle joins printed lines into a file's bytes and does to them what the
// run's Text says.
func (w *world) mangle(lines []printed) []byte {
	var b bytes.Buffer
	end := "\n"
	if w.run.Text == CRLF {
		end = "\r\n"
	}
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if w.run.Text != Clean && w.run.Text != CRLF {
			w.before(&b, l, i)
		}
		next := i+1 < len(lines)
		switch {
		case next && w.tears(l):
			at := w.tearAt(l.text)
			b.WriteString(l.text[:at] + lines[i+1].text + end + l.text[at:] + end)
			i++
		case next && w.joins(l, lines[i+1]):
			b.WriteString(l.text)
			if w.run.Text == Joined {
				b.WriteByte(' ')
			}
		default:
			b.WriteString(l.text + end)
		}
	}
	return b.Bytes()
}

// before writes what precedes line i.
func (w *world) before(b *bytes.Buffer, l printed, i int) {
	switch w.run.Text {
	case Progress:
		if l.kind == info && w.rng.IntN(6) == 0 {
			b.WriteString("\rEpoch 0:  12%|#1        | 1/8 [00:01<00:09,  1.1it/s]")
		}
	case Binary:
		switch {
		case i == 3:
			b.WriteString(strings.Repeat("\xffx", 1<<19) + "\n")
		case w.rng.IntN(10) == 0:
			b.WriteString("\xff\xfe\x00\x1b[2K\xc3\x28 caf\xe9\n")
		}
	case Quotes:
		if w.rng.IntN(10) == 0 {
			b.WriteString(quotes[w.rng.IntN(len(quotes))] + "\n")
		}
	}
}

// quotes are texts about NCCL's lines that are no evidence.
var quotes = [...]string{
	"To check the fabric, look for: NCCL INFO NET/OFI Selected Provider is efa",
	"  grep -E 'Selected provider is efa|Using network Socket' job.log",
	"usage: train.py [--check-net]  fail unless the log says \"Using network Libfabric\"",
	"| `NCCL INFO Using network Socket` | the job fell back to TCP |",
	"Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0 is what a fallback looks like",
	"NET/OFI Selected provider is efa, fabric is efa (found 1 nics)",
	"Connected all rings",
	"libfabric:4711:1796004000::efa:core:efa_prov_init():42<warn> EFA device not found",
}

// tears reports whether a line is torn and the next one is put inside it.
func (w *world) tears(l printed) bool {
	switch w.run.Text {
	case TornNoise:
		return l.kind == info && l.role == noise && w.rng.IntN(8) == 0
	case TornAny:
		return len(l.text) > 1 && w.rng.IntN(40) == 0
	default:
		return false
	}
}

// tearAt returns where the line is split: for TornNoise after a blank of the message, so that the
// next line still starts at a word.
func (w *world) tearAt(text string) int {
	if w.run.Text == TornAny {
		return 1 + w.rng.IntN(len(text)-1)
	}
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		return i + 1
	}
	return len(text)
}

// joins reports whether the newline between two records is lost.
func (w *world) joins(l, next printed) bool {
	if l.kind != info || next.kind != info || w.rng.IntN(10) > 0 {
		return false
	}
	switch w.run.Text {
	case Joined:
		// A name runs to the end of its line; a launcher's prefix behind it could
		// be part of the name.
		return l.role != roleNetwork || (w.run.Launcher == Plain && w.run.Stamp == NoStamp)
	case JoinedTight:
		return true
	default:
		return false
	}
}
