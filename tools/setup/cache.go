package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// wholeFile marks a part's folder as complete. It is written last, so a folder without it is what
// an interruption left. (A rename of the finished folder would do as well, but not for a Python
// environment: its scripts hold its path.)
const wholeFile = ".whole"

// cache holds the parts, each in a folder named by its key, and outlives checkouts.
type cache struct{ dir string }

// whole records how a part came to be.
type whole struct {
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// cacheFolder returns the cache's folder by the XDG base directory specification.
func cacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for the cache: %w", err)
	}
	return filepath.Join(base, "ray-train-efa"), nil
}

func (c cache) folder(key string) string  { return filepath.Join(c.dir, key) }
func (c cache) logPath(key string) string { return filepath.Join(c.dir, "logs", key+".log") }

// has reports whether the part exists and is complete.
func (c cache) has(key string) bool {
	_, err := os.Stat(filepath.Join(c.folder(key), wholeFile))
	return err == nil
}

// begin creates an empty folder for the part and removes what an interrupted attempt left.
func (c cache) begin(key string) error {
	if err := os.RemoveAll(c.folder(key)); err != nil {
		return fmt.Errorf("removing what is left of %s: %w", key, err)
	}
	if err := os.MkdirAll(c.folder(key), 0o755); err != nil {
		return fmt.Errorf("creating a folder for %s: %w", key, err)
	}
	return nil
}

// finish marks the part as complete.
func (c cache) finish(key string, took time.Duration) error {
	content, err := json.Marshal(whole{Seconds: took.Seconds()})
	if err != nil {
		return fmt.Errorf("describing %s: %w", key, err)
	}
	if err := os.WriteFile(filepath.Join(c.folder(key), wholeFile), content, 0o644); err != nil {
		return fmt.Errorf("marking %s as complete: %w", key, err)
	}
	return nil
}

// lock takes the cache for this process, so that two set-ups don't build into the same folders;
// waiting is called once if another one has it. The lock is released when the process ends.
func (c cache) lock(waiting func()) (release func() error, err error) {
	if err := os.MkdirAll(filepath.Join(c.dir, "logs"), 0o755); err != nil {
		return nil, fmt.Errorf("creating the cache: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the cache's lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		waiting()
		err = waitForLock(file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking the cache: %w", err), file.Close())
	}
	return file.Close, nil
}

// waitForLock blocks until the lock is free. A signal ends the process here as it does anywhere.
func waitForLock(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// link links bin/name to target. It replaces an existing link, but nothing else.
func link(bin, name, target string) error {
	path := filepath.Join(bin, name)
	switch current, err := os.Readlink(path); {
	case err == nil && current == target:
		return nil
	case err == nil:
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("replacing link %q: %w", path, err)
		}
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("replacing %q: it is not a link; remove it and run make setup again", path)
	}
	if err := os.Symlink(target, path); err != nil {
		return fmt.Errorf("linking %q: %w", path, err)
	}
	return nil
}
