package nodeagent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
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
	path string
	mu   sync.Mutex
	file *os.File
	// followers get every line as it is written.
	followers map[int]func(stream string, line []byte)
	nextID    int
}

func createLog(path string) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating container log: %w", err)
	}
	return &logFile{path: path, file: file, followers: map[int]func(string, []byte){}}, nil
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
	text, full := bytes.CutSuffix(line, []byte("\n"))
	if full {
		flag = "F"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A full disk must not stop the container, so the line is lost.
	now := time.Now().UTC().Format(time.RFC3339Nano)
	_, _ = fmt.Fprintf(l.file, "%s %s %s %s\n", now, stream, flag, text)
	for _, follow := range l.followers {
		follow(stream, line)
	}
}

// follow calls take for every line from now on, until the function that it returns is called.
func (l *logFile) follow(take func(stream string, line []byte)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextID++
	id := l.nextID
	l.followers[id] = take
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.followers, id)
	}
}

// reopen makes the log go on in a new file, after the kubelet has renamed the old one.
func (l *logFile) reopen() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("reopening container log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
	l.file = file
	return nil
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
}
