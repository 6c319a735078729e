package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// screen prints progress, one line each time, so that it reads the same on a terminal and in a log
// of CI.
type screen struct {
	mutex sync.Mutex
	out   io.Writer
	// every is how often progress is printed while a part is built.
	every time.Duration
}

// say prints one line.
func (s *screen) say(format string, args ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	// An error means that the terminal is gone.
	_, _ = fmt.Fprintf(s.out, "set-up: "+format+"\n", args...)
}

// busy prints that a part is being built, again and again until the returned function is called.
func (s *screen) busy(name, version string) (stop func()) {
	began := time.Now()
	s.say("%s %s: started", name, version)
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(s.every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				s.say("%s %s: running for %s", name, version, round(time.Since(began)))
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

// round drops fractions of seconds.
func round(took time.Duration) time.Duration { return took.Round(time.Second) }
