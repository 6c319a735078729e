package eventlog_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
)

func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	price := 9.5548
	want := []eventlog.Event{
		{HourlyUSD: &price},
		{Refusal: &refusal.Refusal{Code: "quota", Summary: "two\nlines", Next: "pulumi up"}},
	}
	for _, event := range want {
		require.NoError(t, eventlog.To(path).Append(event))
	}
	have, err := eventlog.Read(path)
	require.NoError(t, err)
	assert.Equal(t, want, have)
}

func TestProcessesShareOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	const writers, each = 8, 20
	var wait sync.WaitGroup
	for writer := range writers {
		wait.Go(func() {
			for range each {
				event := eventlog.Event{Refusal: &refusal.Refusal{Code: strconv.Itoa(writer)}}
				assert.NoError(t, eventlog.To(path).Append(event))
			}
		})
	}
	wait.Wait()
	events, err := eventlog.Read(path)
	require.NoError(t, err)
	count := map[string]int{}
	for _, event := range events {
		count[event.Refusal.Code]++
	}
	require.Len(t, count, writers)
	for code, n := range count {
		assert.Equal(t, each, n, code)
	}
}

func TestNoFileHasNoEvents(t *testing.T) {
	t.Parallel()
	events, err := eventlog.Read(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	assert.Empty(t, events)
}

func TestABrokenFileIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	require.NoError(t, os.WriteFile(path, []byte(`{"hourlyUsd":9}{"refu`), 0o600))
	_, err := eventlog.Read(path)
	require.ErrorContains(t, err, path)
}

func TestAFileThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	err := eventlog.To(filepath.Join(t.TempDir(), "no", "folder")).Append(eventlog.Event{})
	require.ErrorContains(t, err, eventlog.Variable)
}

func TestTheEnvironmentNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	t.Setenv(eventlog.Variable, path)
	require.NoError(t, eventlog.FromEnvironment().Append(eventlog.Event{Refusal: &refusal.Refusal{Code: "a"}}))
	t.Setenv(eventlog.Variable, "")
	require.NoError(t, eventlog.FromEnvironment().Append(eventlog.Event{Refusal: &refusal.Refusal{Code: "b"}}), "dropped")
	events, err := eventlog.Read(path)
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, "a", events[0].Refusal.Code)
}
