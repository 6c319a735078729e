package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// setup is one run of the program.
type setup struct {
	root    string
	cache   cache
	facts   map[fact]string
	machine machine
	screen  *screen
}

// planned is a recipe with the key that it has on this machine.
type planned struct {
	recipe
	key string
}

// run builds what is missing and links everything into the checkout's bin folder.
func (s setup) run(ctx context.Context, recipes []recipe) error {
	began := time.Now()
	// A set-up with nothing to make needs no lock, and so doesn't wait for one that makes something
	// else.
	all, missing, err := s.plan(recipes)
	if err != nil {
		return err
	}
	if err := s.machine.check(len(missing) > 0); err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := s.makeLocked(ctx, recipes); err != nil {
			return err
		}
	}
	if err := s.linkAll(all); err != nil {
		return err
	}
	s.screen.say("all %d parts are there (%.1f s)", len(all), time.Since(began).Seconds())
	return nil
}

// plan returns each recipe with its key, and the parts that the cache lacks.
func (s setup) plan(recipes []recipe) (all, missing []planned, err error) {
	for _, r := range recipes {
		key, err := r.key(s.root, s.facts)
		if err != nil {
			return nil, nil, err
		}
		part := planned{r, key}
		all = append(all, part)
		if !s.cache.has(key) {
			missing = append(missing, part)
		}
	}
	return all, missing, nil
}

// makeLocked builds what is missing once no other set-up is running.
func (s setup) makeLocked(ctx context.Context, recipes []recipe) error {
	release, err := s.cache.lock(func() { s.screen.say("another set-up is running; waiting for it to end") })
	if err != nil {
		return err
	}
	// The other set-up may have built what was missing before.
	all, missing, err := s.plan(recipes)
	if err == nil && len(missing) > 0 {
		s.screen.say("%d of %d parts to build, into %s", len(missing), len(all), s.cache.dir)
		err = s.makeAll(ctx, missing)
	}
	return errors.Join(err, release())
}

// linkAll links the parts' programs into the checkout.
func (s setup) linkAll(parts []planned) error {
	for _, part := range parts {
		if err := s.link(part); err != nil {
			return err
		}
	}
	return nil
}

// makeAll builds parts, one of each lane at a time and in the given order. The first failure ends
// the other lanes too.
func (s setup) makeAll(outer context.Context, missing []planned) error {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	lanes := map[lane][]planned{}
	for _, part := range missing {
		lanes[part.Lane] = append(lanes[part.Lane], part)
	}
	var (
		wait   sync.WaitGroup
		mutex  sync.Mutex
		failed error
	)
	for _, queue := range lanes {
		wait.Go(func() {
			for _, part := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := s.make(ctx, part); err != nil {
					mutex.Lock()
					if failed == nil {
						failed = err
					}
					mutex.Unlock()
					cancel()
					return
				}
			}
		})
	}
	prefetched := make(chan struct{})
	go func() {
		defer close(prefetched)
		s.prefetch(ctx, missing)
	}()
	wait.Wait()
	cancel()
	<-prefetched
	if failed != nil {
		return failed
	}
	return outer.Err()
}

// make builds one part.
func (s setup) make(ctx context.Context, part planned) error {
	began := time.Now()
	stop := s.screen.busy(part.Name, part.Version)
	defer stop()
	if err := s.cache.begin(part.key); err != nil {
		return err
	}
	log, err := os.Create(s.cache.logPath(part.key))
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", part.Name, err)
	}
	env := environment{ctx: ctx, out: s.cache.folder(part.key), source: filepath.Join(s.root, part.Source), log: log}
	err = nil
	for _, step := range part.Steps {
		if err = step.perform(env); err != nil {
			break
		}
	}
	if closing := log.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return s.explain(ctx, part, err)
	}
	if err := s.cache.finish(part.key, time.Since(began)); err != nil {
		return err
	}
	stop()
	s.screen.say("%s %s: done in %s", part.Name, part.Version, round(time.Since(began)))
	return s.link(part)
}

// prefetch downloads the modules of the parts that compile later, and then those of the checkout
// itself. Errors are ignored here; they occur again when the part is built.
func (s setup) prefetch(ctx context.Context, missing []planned) {
	var folders, packages []string
	for _, part := range missing {
		if part.Prefetch != "" {
			folders, packages = append(folders, part.Source), append(packages, part.Prefetch)
		}
	}
	if len(folders) > 0 {
		folders, packages = append(folders, "."), append(packages, "./...")
	}
	for i, folder := range folders {
		env := environment{ctx: ctx, source: filepath.Join(s.root, folder), log: io.Discard}
		if err := env.run([]string{"go", "list", "-deps", packages[i]}); err != nil {
			return
		}
	}
}

// link links one part's programs into the checkout.
func (s setup) link(part planned) error {
	bin := filepath.Join(s.root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("creating the folder bin: %w", err)
	}
	for name, path := range part.Links {
		if err := link(bin, name, filepath.Join(s.cache.folder(part.key), path)); err != nil {
			return err
		}
	}
	return nil
}

// logTail is how many lines of a log an error shows: with the rest of the message it fits a screen.
const logTail = 15

// explain says what went wrong with a part, and shows the end of its log unless it was only
// interrupted.
func (s setup) explain(ctx context.Context, part planned, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("building %s: %w", part.Name, err)
	}
	path := s.cache.logPath(part.key)
	content, readErr := os.ReadFile(path)
	if readErr != nil {
		return errors.Join(fmt.Errorf("building %s: %w", part.Name, err), readErr)
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	tail := strings.Join(lines[max(0, len(lines)-logTail):], "\n  | ")
	return fmt.Errorf("building %s %s: %w; its log %s ends with\n  | %s\n"+
		"finished parts are kept; fix the cause, then run make setup to continue",
		part.Name, part.Version, err, path, tail)
}
