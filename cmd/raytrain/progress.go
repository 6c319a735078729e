package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// progressAfter is how long a judgement may take before progress is printed.
	progressAfter = time.Second
	// progressPause is the pause between lines where none can be written over, in units of the wait
	// for the first.
	progressPause = 10
)

// progress writes to w what a judgement does that takes longer than after. The returned function
// ends it and must be called once. On a terminal there is one line, which goes away at the end.
func progress(w io.Writer, after time.Duration, what func() string) (stop func()) {
	start, pause, format, last := time.Now(), progressPause*after, "raytrain: %s, %d s so far\n", ""
	if isTerminal(w) {
		const clearLine = "\r\x1b[K"
		pause, format, last = after, clearLine+"raytrain: %s, %d s so far", clearLine
	}
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		ending := ""
		for next := after; ; next = pause {
			select {
			case <-done:
				fmt.Fprint(w, ending)
				return
			case <-time.After(next):
				fmt.Fprintf(w, format, what(), int(time.Since(start).Seconds()))
				ending = last
			}
		}
	})
	return func() {
		close(done)
		writer.Wait()
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColor reports whether text on w may have colors: on a terminal that knows them, unless
// NO_COLOR is set (https://no-color.org).
func wantsColor(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}
