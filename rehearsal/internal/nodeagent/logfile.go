package nodeagent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Container logs are kept in the form that container runtimes write: one line
// per line of output, TIME STREAM FLAG TEXT, where FLAG is F for a full line
// and P for the beginning of one that was too long
// (github.com/kubernetes/design-proposals-archive, node/kubelet-cri-logging.md).
const (
	stdoutStream = "stdout"
	stderrStream = "stderr"
	// maxLogLine is where runtimes split lines.
	maxLogLine = 16 << 10
)

// logFile is a container's log, written by one goroutine per stream.
type logFile struct {
	mu   sync.Mutex
	file *os.File
	now  func() time.Time
	// grown is closed and replaced at every write, to wake followers.
	grown chan struct{}
	ended bool
}

func createLog(path string) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating container log: %w", err)
	}
	return &logFile{file: file, now: time.Now, grown: make(chan struct{})}, nil
}

// pump copies a stream into the log until the stream ends.
func (l *logFile) pump(stream string, from io.Reader) {
	reader := bufio.NewReaderSize(from, maxLogLine)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			l.write(stream, line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (l *logFile) write(stream string, line []byte) {
	flag := "P"
	if text, full := bytes.CutSuffix(line, []byte("\n")); full {
		line, flag = text, "F"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A full disk must not stop the container, so the line is lost.
	_, _ = fmt.Fprintf(l.file, "%s %s %s %s\n", l.now().UTC().Format(time.RFC3339Nano), stream, flag, line)
	l.wake()
}

func (l *logFile) wake() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// close marks the end: followers finish.
func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
	l.ended = true
	l.wake()
}

// state gives a channel that is closed at the next write, and whether there
// will be one.
func (l *logFile) state() (<-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grown, l.ended
}

// logLine is one parsed line of a log.
type logLine struct {
	at     time.Time
	stamp  string
	stream string
	text   string // ends with a newline unless the line was split here
}

func parseLogLine(line string) (logLine, error) {
	parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
	if len(parts) != 4 {
		return logLine{}, fmt.Errorf("log line %q: want TIME STREAM FLAG TEXT", line)
	}
	at, err := time.Parse(time.RFC3339Nano, parts[0])
	if err != nil {
		return logLine{}, fmt.Errorf("log line %q: %w", line, err)
	}
	out := logLine{at: at, stamp: parts[0], stream: parts[1], text: parts[3]}
	if parts[2] == "F" {
		out.text += "\n"
	}
	return out, nil
}
