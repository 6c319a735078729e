package nodeagent

import (
	"bytes"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeTestLog writes one line a second.
func writeTestLog(t *testing.T, lines ...string) (string, *logFile) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "0.log")
	log, err := createLog(path)
	require.NoError(t, err)
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	log.now = func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	}
	log.pump(stdoutStream, strings.NewReader(strings.Join(lines, "")))
	return path, log
}

func TestReadLog(t *testing.T) {
	t.Parallel()
	path, _ := writeTestLog(t, "one\n", "two\n", "three\n", "no newline")
	tests := []struct{ name, in, want string }{
		{"all", "", "one\ntwo\nthree\nno newline"},
		{"tail", "tailLines=2", "three\nno newline"},
		{"tail of more than there is", "tailLines=9", "one\ntwo\nthree\nno newline"},
		{"no tail", "tailLines=0", ""},
		{"time stamps", "tailLines=1&timestamps=true", "2026-01-01T00:00:04Z no newline"},
		{"since", "sinceTime=2026-01-01T00:00:03Z", "three\nno newline"},
		{"limit", "limitBytes=6", "one\ntw"},
		{"other stream", "stream=Stderr", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			query, err := url.ParseQuery(test.in)
			require.NoError(t, err)
			options, err := parseLogOptions(query, time.Now())
			require.NoError(t, err)
			assert.Equal(t, test.want, logText(t, path, options))
		})
	}
}

func TestLongLinesAreJoinedAgain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxLogLine+7) + "\n"
	path, _ := writeTestLog(t, long)
	assert.Equal(t, long, logText(t, path, logOptions{tail: -1}))
}

func TestLogOptionErrors(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"follow=maybe", "tailLines=-1", "tailLines=x", "sinceTime=yesterday"} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = parseLogOptions(values, time.Now())
		name, _, _ := strings.Cut(query, "=")
		assert.ErrorContains(t, err, name)
	}
}

func TestFollowEndsWithTheContainer(t *testing.T) {
	t.Parallel()
	path, log := writeTestLog(t, "before\n")
	var out bytes.Buffer
	ended := make(chan error)
	go func() { ended <- readLog(t.Context(), path, log, logOptions{tail: -1, follow: true}, &out) }()
	log.write(stdoutStream, []byte("after\n"))
	log.close()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("the follower did not end")
	}
	assert.Equal(t, "before\nafter\n", out.String())
}
