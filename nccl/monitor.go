package nccl

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/verdict"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Monitor judges the logs of a run while they are written. Its methods may be called from several
// goroutines.
//
// For a complete log a Monitor is at least as strict as Judge: a line that was incomplete when
// Status was called stays incomplete.
type Monitor struct {
	mu   sync.Mutex
	opts Options
	scan *record.Scanner
	// block is the one that is parsed now.
	block record.Block
	logs  map[string]*growingLog
	// files are those of the logs, in the order in which they came.
	files []*model.File
}

// growingLog is the part of a log that was added so far.
type growingLog struct {
	file  *model.File
	rest  []byte // what is not parsed yet
	begun bool   // some of it is parsed
	ended bool
}

// Status is the intermediate result of a Monitor.
type Status struct {
	// Report is the verdict on the lines so far.
	Report report.Report
	// Provisional reports whether a log has not ended. Call Add for every expected log, even without
	// data.
	Provisional bool
	// CanBecomeEFA reports whether the verdict is efa or can still become so. When it is false, the
	// run has failed: a channel between nodes is not on EFA.
	CanBecomeEFA bool
}

const (
	// parseSize is how much of a log is gathered before it is parsed.
	parseSize = 256 << 10
	// keepBack is how much of it is left for the next time: an incomplete line is completed from what
	// follows.
	keepBack = 8 << 10
	// maxLine bounds a line without an end.
	maxLine = 1 << 20
)

// NewMonitor returns a Monitor for one run.
func NewMonitor(opts Options) *Monitor {
	return &Monitor{
		opts: opts, scan: record.NewScanner(record.NewGrammar()), logs: map[string]*growingLog{},
	}
}

// Add takes the next bytes of a log, such as one rank's file. Pieces may end anywhere.
func (m *Monitor) Add(log string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.log(log)
	l.ended = false
	l.rest = append(l.rest, data...)
	if len(l.rest) >= parseSize {
		m.parse(l, len(l.rest)-keepBack)
	}
}

// AddFrom takes the next bytes of a log from r, up to its end, and returns their number. It parses
// them as Status does, so that no more of thousands of logs is in memory than their last lines.
func (m *Monitor) AddFrom(log string, r io.Reader) (int64, error) {
	n, err := io.Copy(addWriter{m, log}, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.log(log)
	m.parse(l, len(l.rest))
	l.rest = bytes.Clone(l.rest)
	if err != nil {
		return n, fmt.Errorf("reading %q: %w", log, err)
	}
	return n, nil
}

// addWriter adds what is written to it to a log.
type addWriter struct {
	m   *Monitor
	log string
}

// Write never fails.
func (w addWriter) Write(p []byte) (int, error) {
	w.m.Add(w.log, p)
	return len(p), nil
}

// End marks a log as complete. A later Add undoes that.
func (m *Monitor) End(log string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.log(log)
	l.ended = true
	l.file.CutTail = len(l.rest) > 0 && l.rest[len(l.rest)-1] != '\n' && l.file.Infos > 0
	m.apply(l, len(l.rest))
}

// Status judges the data so far.
func (m *Monitor) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{Provisional: len(m.files) == 0}
	for _, l := range m.logs {
		m.parse(l, len(l.rest))
		s.Provisional = s.Provisional || !l.ended
	}
	out := verdict.Conclude(m.files, verdict.Expected(m.opts))
	s.Report, s.CanBecomeEFA = out.Report, out.Verdict == report.EFA || s.Provisional && !out.Failed
	return s
}

// log returns the log of a name.
func (m *Monitor) log(name string) *growingLog {
	l := m.logs[name]
	if l == nil {
		l = &growingLog{file: model.NewFile(name, len(m.files))}
		m.logs[name] = l
		m.files = append(m.files, l.file)
	}
	return l
}

// parse parses the whole lines among the first n bytes that are not parsed yet.
func (m *Monitor) parse(l *growingLog, n int) {
	end := bytes.LastIndexByte(l.rest[:n], '\n') + 1
	if end == 0 && n >= maxLine {
		end = n
	}
	m.apply(l, end)
}

// apply adds the first n bytes that are not parsed yet to the model.
func (m *Monitor) apply(l *growingLog, n int) {
	if n == 0 {
		return
	}
	if !l.begun {
		l.begun, l.file.Rehearsed = true, record.Rehearsed(l.rest)
	}
	m.block.Reset(l.rest[:n], l.rest[n:])
	m.scan.Scan(&m.block)
	l.file.Apply(&m.block)
	l.rest = append(l.rest[:0], l.rest[n:]...)
}
