package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progressPause is how long progress that differs only in its seconds is not shown.
const progressPause = 30 * time.Second

// newProgress returns a function that writes lines of progress to w. A line that differs from the one
// before only behind its last comma, which is where the seconds are, is shown every progressPause.
func newProgress(w io.Writer, now func() time.Time) func(line string) {
	var lock sync.Mutex
	var last string
	var shown time.Time
	return func(line string) {
		lock.Lock()
		defer lock.Unlock()
		what := line
		if i := strings.LastIndexByte(line, ','); i >= 0 {
			what = line[:i]
		}
		if what == last && now().Sub(shown) < progressPause {
			return
		}
		last, shown = what, now()
		fmt.Fprintln(w, line)
	}
}
