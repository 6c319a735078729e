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
	// progressAfter is how long a judgement may take before it reports progress.
	progressAfter = time.Second
	// progressEvery is the pause between lines where a line cannot be written over.
	progressEvery = 10 * time.Second
)

// progress reports on w, from the second second on, what a long judgement does. The returned
// function ends it and may be called once.
func progress(w io.Writer, what func() string) (stop func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { reportProgress(w, what, done) })
	return func() {
		close(done)
		wait.Wait()
	}
}

func reportProgress(w io.Writer, what func() string, done <-chan struct{}) {
	start, every, format := time.Now(), progressEvery, "raytrain: %s, %d s so far\n"
	if isTerminal(w) {
		every, format = progressAfter, "\r\x1b[Kraytrain: %s, %d s so far"
		defer func() {
			if time.Since(start) > progressAfter {
				fmt.Fprint(w, "\r\x1b[K")
			}
		}()
	}
	next := progressAfter
	for {
		select {
		case <-done:
			return
		case <-time.After(next):
			fmt.Fprintf(w, format, what(), int(time.Since(start).Seconds()))
			next = every
		}
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
