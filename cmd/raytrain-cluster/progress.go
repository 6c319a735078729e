package main

import (
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"
)

// lockedWriter is a writer for the progress and the job's output, which come at the same time.
type lockedWriter struct {
	lock sync.Mutex
	out  io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.out.Write(p)
}

// progressPause is how long progress that differs only in its seconds is not shown.
const progressPause = 30 * time.Second

// newProgress returns a function that writes lines of progress to w. A line that differs from the one
// before only in its seconds is shown every progressPause.
func newProgress(w io.Writer, now func() time.Time) func(line string) {
	seconds := regexp.MustCompile(`, [0-9]+ s\b`)
	var last string
	var shown time.Time
	return func(line string) {
		what := seconds.ReplaceAllString(line, "")
		if what == last && now().Sub(shown) < progressPause {
			return
		}
		last, shown = what, now()
		fmt.Fprintln(w, line)
	}
}
