package synth

import (
	"fmt"
	"slices"
)

// printed is a line as it reaches a file.
type printed struct {
	text string
	role role
	kind kind
	from *process
}

// render turns a process's lines into what reaches the collector.
func (w *world) render(p *process, lines []line) []printed {
	out := make([]printed, 0, len(lines))
	for _, l := range lines {
		texts := []string{w.text(p, l)}
		if l.kind == warn {
			texts = []string{"", texts[0]}
		}
		for _, t := range texts {
			for _, wrapped := range w.run.Launcher.wrap(p, w.rng, t) {
				out = append(out, printed{wrapped, l.role, l.kind, p})
			}
		}
	}
	return out
}

// text puts NCCL's prefix before a line's text.
func (w *world) text(p *process, l line) string {
	stamp := ""
	if w.run.NCCL.AtLeast(26, 2) {
		stamp = w.run.Stamp.text(w.rng)
		if w.run.Stamp == NoStamp && l.kind == warn {
			stamp = Bracketed.text(w.rng)
		}
	}
	switch l.kind {
	case info:
		return fmt.Sprintf("%s%s:%d:%d [%d] NCCL INFO %s", stamp, p.host, p.pid, l.tid, l.dev, l.text)
	case warn:
		return fmt.Sprintf("%s%s:%d:%d [%d] %s NCCL WARN %s", stamp, p.host, p.pid, l.tid, l.dev, l.origin, l.text)
	default:
		return l.text
	}
}

// files lays the processes' lines out in files.
func (w *world) files() []File {
	switch w.run.Layout {
	case Merged:
		return []File{{Name: "job.log", Data: w.mangle(w.merged(w.render))}}
	case RaySession:
		files := w.perProcess(func(p *process) string {
			return fmt.Sprintf("worker-%056x-02000000-%d.out", p.index, p.pid)
		}, ":job_id:02000000", ":actor_name:RayTrainWorker")
		driver := *w
		driver.run.Launcher = RayDedup
		return append(files, File{
			Name: "job-driver-raysubmit_16CpfC7Vde9nPRgs.log",
			Data: w.mangle(driver.merged(driver.render)),
		})
	default:
		return w.perProcess(func(p *process) string {
			return fmt.Sprintf("rank%d.%s.%d.log", p.ranks[0].id, p.host, p.pid)
		})
	}
}

func (w *world) perProcess(name func(*process) string, head ...string) []File {
	files := make([]File, 0, len(w.procs))
	for _, p := range w.procs {
		lines := make([]printed, 0, len(p.earlier)+len(p.lines))
		for _, h := range head {
			lines = append(lines, printed{text: h, kind: other, from: p})
		}
		lines = append(lines, w.render(p, p.earlier)...)
		lines = append(lines, w.render(p, p.lines)...)
		files = append(files, File{Name: name(p), Data: w.mangle(lines)})
	}
	return files
}

// merged interleaves the processes, run after run, and drops repeated lines
// where the launcher is Ray's driver.
func (w *world) merged(render func(*process, []line) []printed) []printed {
	var out []printed
	for _, of := range []func(*process) []line{
		func(p *process) []line { return p.earlier },
		func(p *process) []line { return p.lines },
	} {
		var live [][]printed
		for _, p := range w.procs {
			if lines := render(p, of(p)); len(lines) > 0 {
				live = append(live, lines)
			}
		}
		// Processes are at about the same point at the same time: a window of
		// them moves over all, so that large jobs still interleave widely.
		for len(live) > 0 {
			i := w.rng.IntN(min(len(live), 64))
			n := min(1+w.rng.IntN(4), len(live[i]))
			out = append(out, live[i][:n]...)
			if live[i] = live[i][n:]; len(live[i]) == 0 {
				live = slices.Delete(live, i, i+1)
			}
		}
	}
	if w.run.Launcher == RayDedup {
		return dedup(out)
	}
	return out
}
