package nodeagent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// logOptions are what a reader of a container's log may ask for, as in
// corev1.PodLogOptions.
type logOptions struct {
	follow, previous, timestamps bool
	tail                         int64 // lines from the end; -1 for all
	limit                        int64 // bytes; 0 for all
	since                        time.Time
	stream                       string // only this one, if set
}

func parseLogOptions(query url.Values, now time.Time) (logOptions, error) {
	options := logOptions{tail: -1}
	for name, field := range map[string]*bool{"follow": &options.follow, "previous": &options.previous, "timestamps": &options.timestamps} {
		if text := query.Get(name); text != "" {
			value, err := strconv.ParseBool(text)
			if err != nil {
				return options, fmt.Errorf("parameter %s=%q: want true or false", name, text)
			}
			*field = value
		}
	}
	var seconds int64
	for name, field := range map[string]*int64{"tailLines": &options.tail, "limitBytes": &options.limit, "sinceSeconds": &seconds} {
		if text := query.Get(name); text != "" {
			value, err := strconv.ParseInt(text, 10, 64)
			if err != nil || value < 0 {
				return options, fmt.Errorf("parameter %s=%q: want a number of at least 0", name, text)
			}
			*field = value
		}
	}
	if seconds > 0 {
		options.since = now.Add(-time.Duration(seconds) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return options, fmt.Errorf("parameter sinceTime=%q: want a time such as 2006-01-02T15:04:05Z", text)
		}
		options.since = at
	}
	switch query.Get("stream") {
	case "Stdout":
		options.stream = stdoutStream
	case "Stderr":
		options.stream = stderrStream
	}
	return options, nil
}

// readLog writes a log to out; live is the log if it is still being written to.
func readLog(ctx context.Context, path string, live *logFile, options logOptions, out io.Writer) error {
	sink := &logSink{options: options, out: out, left: options.limit}
	return scanLog(ctx, path, live, options, sink.put)
}

// followStreams gives what is written to a log from now on to a sink.
func followStreams(ctx context.Context, path string, live *logFile, sink attachSink) error {
	return scanLog(ctx, path, live, logOptions{tail: 0, follow: true}, func(line logLine) (bool, error) {
		return false, sink.write(line)
	})
}

// scanLog calls take for each line of a log, beginning as far from the end as
// the options say, until take has enough, or the log has ended for good.
func scanLog(ctx context.Context, path string, live *logFile, options logOptions, take func(logLine) (enough bool, err error)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening container log: %w", err)
	}
	defer file.Close()
	if options.tail >= 0 {
		if err := seekTail(file, options.tail); err != nil {
			return err
		}
	}
	reader := &lineReader{reader: bufio.NewReader(file)}
	for {
		// State before reading: a line written in between wakes the next wait.
		grown, ended := (<-chan struct{})(nil), true
		if live != nil {
			grown, ended = live.state()
		}
		if enough, err := reader.each(take); err != nil || enough {
			return err
		}
		if !options.follow || ended {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil
		}
	}
}

// lineReader reads whole lines of a file that grows; half a line waits for its
// other half.
type lineReader struct {
	reader  *bufio.Reader
	partial string
}

func (r *lineReader) each(take func(logLine) (bool, error)) (enough bool, err error) {
	for {
		chunk, err := r.reader.ReadString('\n')
		r.partial += chunk
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading container log: %w", err)
		}
		line, err := parseLogLine(r.partial)
		if err != nil {
			return false, err
		}
		r.partial = ""
		if enough, err := take(line); err != nil || enough {
			return enough, err
		}
	}
}

// logSink filters and writes lines.
type logSink struct {
	options logOptions
	out     io.Writer
	left    int64 // bytes, if options.limit is set
}

func (s *logSink) put(line logLine) (done bool, err error) {
	if line.at.Before(s.options.since) || s.options.stream != "" && line.stream != s.options.stream {
		return false, nil
	}
	text := line.text
	if s.options.timestamps {
		text = line.stamp + " " + text
	}
	if s.options.limit > 0 && int64(len(text)) >= s.left {
		text, done = text[:s.left], true
	}
	s.left -= int64(len(text))
	_, err = io.WriteString(s.out, text)
	return done, err
}

// seekTail moves to the beginning of the last n lines.
func seekTail(file *os.File, n int64) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	const block = 32 << 10
	buffer := make([]byte, block)
	for newlines := int64(0); end > 0; {
		size := min(end, block)
		end -= size
		if _, err := file.ReadAt(buffer[:size], end); err != nil {
			return fmt.Errorf("reading container log: %w", err)
		}
		for i := size - 1; i >= 0; i-- {
			if buffer[i] != '\n' {
				continue
			}
			// The newline that ends the last line is number 1.
			if newlines++; newlines > n {
				_, err := file.Seek(end+i+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// lastLines gives the end of a log, for termination messages: at most 80 lines
// or 2 KiB, the kubelet's limits.
func lastLines(path string) string {
	const maxLines, maxBytes = 80, 2048
	var out strings.Builder
	if err := readLog(context.Background(), path, nil, logOptions{tail: maxLines}, &out); err != nil {
		return ""
	}
	text := out.String()
	return text[max(0, len(text)-maxBytes):]
}
