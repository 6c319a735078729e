package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Without a handler the signal would kill the test.
func TestAClosedTerminalInterrupts(t *testing.T) {
	ctx, stop := interruptible()
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
		require.Fail(t, "the signal was ignored")
	}
}
