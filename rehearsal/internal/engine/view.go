package engine

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"golang.org/x/term"
)

// view shows a running update: on a terminal as a tree that is redrawn in place, elsewhere as one
// line per finished step.
type view struct {
	out      io.Writer
	record   *recorder
	terminal bool
	width    int
	height   int

	mu      sync.Mutex
	drawn   int
	printed map[string]bool
}

// redrawEvery limits the redraw rate, so that a terminal stays readable during hundreds of events.
const redrawEvery = 200 * time.Millisecond

func newView(out io.Writer, record *recorder) *view {
	v := &view{out: out, record: record, width: 100, height: 40, printed: map[string]bool{}}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		v.terminal = true
		if width, height, err := term.GetSize(int(file.Fd())); err == nil {
			v.width, v.height = width, height
		}
	}
	return v
}

// start redraws on a timer, for the running clocks. The returned function draws the last state and
// stops the timer.
func (v *view) start() (stop func()) {
	if v.out == nil {
		return func() {}
	}
	ticker := time.NewTicker(redrawEvery)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				if v.terminal {
					v.draw(time.Now(), false)
				}
			case <-quit:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(quit)
		<-ended
		if v.terminal {
			v.draw(time.Now(), true)
		} else {
			v.refresh()
		}
	}
}

// refresh prints what has finished since the last call, where there is no terminal to redraw.
func (v *view) refresh() {
	if v.out == nil || v.terminal {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	steps := v.record.current()
	depth := depths(steps)
	for i, step := range steps {
		key := step.URN + string(step.Op)
		if step.State == Running || v.printed[key] {
			continue
		}
		v.printed[key] = true
		fmt.Fprintf(v.out, "  %7s  %s\n", clock(step.End.Sub(v.record.start)),
			line(step, depth[i], step.End))
	}
}

// draw replaces the previously drawn lines with the current tree. While the update runs it shows no
// more than fits the screen, newest steps last.
func (v *view) draw(now time.Time, final bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	lines := treeLines(v.record.current(), now)
	if room := v.height - 2; !final && len(lines) > room && room > 0 {
		lines = lines[len(lines)-room:]
	}
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", v.drawn)
	}
	for _, text := range lines {
		if runes := []rune(text); len(runes) > v.width {
			text = string(runes[:v.width])
		}
		b.WriteString(text + "\n")
	}
	v.drawn = len(lines)
	_, _ = io.WriteString(v.out, b.String())
}

// treeLines draws the steps as a tree, children below their parents.
func treeLines(steps []Step, now time.Time) []string {
	present := map[string]bool{}
	for _, step := range steps {
		present[step.URN] = true
	}
	children := map[string][]Step{}
	var roots []Step
	for _, step := range steps {
		if present[step.Parent] {
			children[step.Parent] = append(children[step.Parent], step)
		} else {
			roots = append(roots, step)
		}
	}
	var lines []string
	shown := map[string]bool{}
	var walk func(step Step, depth int)
	walk = func(step Step, depth int) {
		lines = append(lines, "  "+line(step, depth, now))
		// A replacement has several steps under one URN: list children once.
		if shown[step.URN] {
			return
		}
		shown[step.URN] = true
		for _, child := range children[step.URN] {
			walk(child, depth+1)
		}
	}
	for _, root := range roots {
		walk(root, 0)
	}
	return lines
}

func depths(steps []Step) []int {
	parent := map[string]string{}
	for _, step := range steps {
		parent[step.URN] = step.Parent
	}
	depth := make([]int, len(steps))
	for i, step := range steps {
		// The bound guards against a parent cycle in a broken event log.
		for p := step.Parent; p != "" && depth[i] < 8; p = parent[p] {
			if _, ok := parent[p]; !ok {
				break
			}
			depth[i]++
		}
	}
	return depth
}

func line(step Step, depth int, now time.Time) string {
	mark, until := "…", now
	switch step.State {
	case Done:
		mark, until = sign(step.Op), step.End
	case Failed:
		mark, until = "✗", step.End
	case Unfinished:
		mark, until = "!", step.End
	case Running:
	}
	return fmt.Sprintf("%s%s %s  %s  %s", strings.Repeat("  ", depth), mark, shortType(step.Type),
		step.Name,
		clock(until.Sub(step.Start)))
}

// sign returns the mark of a finished operation, as in Pulumi's own display.
func sign(op apitype.OpType) string {
	switch op {
	case apitype.OpCreate:
		return "+"
	case apitype.OpDelete, apitype.OpDeleteReplaced:
		return "-"
	case apitype.OpUpdate:
		return "~"
	case apitype.OpReplace, apitype.OpCreateReplacement:
		return "±"
	}
	return "·"
}

// shortType turns aws:ec2/vpc:Vpc into aws:ec2:Vpc.
func shortType(token string) string {
	parts := strings.Split(token, ":")
	if len(parts) != 3 {
		return token
	}
	module, _, _ := strings.Cut(parts[1], "/")
	return parts[0] + ":" + module + ":" + parts[2]
}

func clock(d time.Duration) string { return fmt.Sprintf("%.1fs", max(d, 0).Seconds()) }
