package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// KillOrphans kills the plugins that a killed engine of the rehearsal in dir left, because some of
// Pulumi's plugins do not notice that their engine ended. It keeps the plugins of a running engine.
func KillOrphans(dir string) error {
	if errors.As(CheckLock(dir), new(LockedError)) {
		return nil
	}
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	wanted := []byte("\x00" + configVariable + "=" + settingsFile(dir) + "\x00")
	var problems []error
	for _, entry := range entries {
		environment, err := os.ReadFile(entry)
		// A process that cannot be read has ended or is another user's.
		own := err == nil && bytes.Contains(append([]byte{0}, environment...), wanted)
		if !own || !isPlugin(filepath.Dir(entry)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err != nil {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			problems = append(problems, fmt.Errorf("killing the plugin %d of a killed engine: %w",
				pid, err))
		}
	}
	return errors.Join(problems...)
}

// isPlugin reports whether the process in a folder of /proc runs a Pulumi plugin. The eks plugin is
// a script of Node.js.
func isPlugin(proc string) bool {
	words, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil {
		return false
	}
	for _, word := range strings.Split(string(words), "\x00") {
		if strings.HasPrefix(filepath.Base(word), "pulumi-resource-") ||
			strings.Contains(word, "/@pulumi/eks/cmd/provider") {
			return true
		}
	}
	return false
}
