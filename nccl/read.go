package nccl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

const (
	// blockSize is the unit of parallel parsing of one large file.
	blockSize = 1 << 20
	// mapThreshold is the size from which a file is mapped and its blocks are
	// parsed in parallel; smaller ones are read whole, each by one worker.
	mapThreshold = 4 << 20
	// maxReach bounds how far a block looks for the newline at which it ends,
	// so that a line of many megabytes does not make every block scan it all.
	maxReach = 64 << 10
)

// Judge reads every source once and says whether all inter-node traffic in
// them rode EFA. An error means that evidence could not be read; it is never a
// verdict. The report is complete even when the verdict is Inconclusive.
func Judge(ctx context.Context, sources []Source, opts Options) (report.Report, error) {
	if len(sources) == 0 {
		return report.Report{}, errors.New("judging no logs: give at least one file, folder or -")
	}
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	rd := &reader{grammar: newGrammar(), workers: workers}
	files, err := rd.all(ctx, sources)
	if err != nil {
		return report.Report{}, err
	}
	return conclude(files, opts), nil
}

// reader parses sources into the model.
type reader struct {
	grammar *grammar
	workers int
}

// all reads the sources in parallel. Large plain files come last, one after the
// other, because each keeps all workers busy by itself.
func (rd *reader) all(ctx context.Context, sources []Source) ([]*logFile, error) {
	files := make([]*logFile, len(sources))
	errs := make([]error, len(sources))
	var large []int
	small := make(chan int)
	var wg sync.WaitGroup
	for range min(rd.workers, len(sources)) {
		wg.Go(func() {
			w := &worker{rd: rd, scan: newScanner(rd.grammar)}
			for i := range small {
				files[i], errs[i] = w.source(ctx, sources[i], i)
			}
		})
	}
	for i, src := range sources {
		if isLarge(src) {
			large = append(large, i)
			continue
		}
		small <- i
	}
	close(small)
	wg.Wait()
	for _, i := range large {
		files[i], errs[i] = rd.mapped(ctx, sources[i], i)
	}
	return files, errors.Join(errs...)
}

func isLarge(src Source) bool {
	if src.Path == "" {
		return false
	}
	info, err := os.Stat(src.Path)
	return err == nil && info.Mode().IsRegular() && info.Size() >= mapThreshold
}

// worker reads one source after the other with one set of buffers.
type worker struct {
	rd   *reader
	buf  []byte
	blk  block
	scan *scanner
}

// source streams one source through the parser.
func (w *worker) source(ctx context.Context, src Source, index int) (f *logFile, err error) {
	r, err := src.Open()
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	defer func() { err = errors.Join(err, wrapClose(src.Name, r.Close())) }()
	f = newLogFile(src.Name, index)
	if w.buf == nil {
		w.buf = make([]byte, blockSize)
	}
	if err := w.stream(ctx, f, r); err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	return f, nil
}

func wrapClose(name string, err error) error {
	if err != nil {
		return fmt.Errorf("closing %q: %w", name, err)
	}
	return nil
}

// stream parses r block by block, carrying the unfinished line over.
func (w *worker) stream(ctx context.Context, f *logFile, r io.Reader) error {
	kept, last := 0, byte('\n')
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, w.buf[kept:])
		end := kept + n
		if n > 0 {
			last = w.buf[end-1]
		}
		final := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !final {
			return err
		}
		cut := end
		if !final {
			cut = lastCut(w.buf[:end])
		}
		w.blk.reset(w.buf[:cut], w.buf[cut:end])
		w.scan.scan(&w.blk)
		f.apply(&w.blk)
		if final {
			f.cutTail = last != '\n' && f.infos > 0
			return nil
		}
		kept = copy(w.buf, w.buf[cut:end])
	}
}

// lastCut finds where a full buffer can be cut: behind its last newline or, in
// a line longer than the buffer, before its last record.
func lastCut(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	if i := bytes.LastIndex(b, []byte(token)); i > 0 {
		floor := max(0, i-maxPrefix)
		if _, start, ok := parsePrefix(b[floor:], i-floor); ok && floor+start > 0 {
			return floor + start
		}
	}
	return len(b) - maxPrefix
}

// mapped parses a large file from memory-mapped pages, its blocks in parallel
// and the model in order.
func (rd *reader) mapped(ctx context.Context, src Source, index int) (f *logFile, err error) {
	m, err := mapFile(src.Path)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	defer func() { err = errors.Join(err, wrapClose(src.Name, m.close())) }()
	f = newLogFile(src.Name, index)
	if err := rd.blocks(ctx, f, m.data); err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	err = withoutFault(func() {
		f.cutTail = len(m.data) > 0 && m.data[len(m.data)-1] != '\n' && f.infos > 0
	})
	if err = errors.Join(err, m.intact()); err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	return f, nil
}

// job is a block on its way through the workers.
type job struct {
	blk  *block
	done chan struct{}
}

// blocks hands the data out in blocks. The order of apply is the file's, and
// the number of blocks in flight is bounded, so memory is too. After an error,
// the blocks that are still in flight are drained.
func (rd *reader) blocks(ctx context.Context, f *logFile, data []byte) error {
	inFlight := rd.workers * 4
	free := make(chan *block, inFlight)
	for range inFlight {
		free <- &block{}
	}
	todo := make(chan *job, inFlight)
	order := make(chan *job, inFlight)
	var wg sync.WaitGroup
	for range rd.workers {
		wg.Go(func() {
			s := newScanner(rd.grammar)
			for j := range todo {
				j.blk.err = withoutFault(func() { s.scan(j.blk) })
				close(j.done)
			}
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var cutErr error
	wg.Go(func() {
		defer close(todo)
		defer close(order)
		err := withoutFault(func() {
			for start := 0; start < len(data) && ctx.Err() == nil; {
				end := cutAfter(data, start+blockSize)
				blk := <-free
				blk.reset(data[start:end], data[end:min(len(data), end+maxReach)])
				j := &job{blk: blk, done: make(chan struct{})}
				todo <- j
				order <- j
				start = end
			}
		})
		cutErr = cmp.Or(err, ctx.Err())
	})
	var readErr error
	for j := range order {
		<-j.done
		if readErr == nil {
			if readErr = cmp.Or(j.blk.err, withoutFault(func() { f.apply(j.blk) })); readErr != nil {
				cancel()
			}
		}
		free <- j.blk
	}
	wg.Wait()
	return cmp.Or(readErr, cutErr)
}

// cutAfter finds where a block that should end at nominal does: behind the next
// newline, or, in a very long line, before the next record.
func cutAfter(data []byte, nominal int) int {
	if nominal >= len(data) {
		return len(data)
	}
	reach := data[nominal:min(len(data), nominal+maxReach)]
	if i := bytes.IndexByte(reach, '\n'); i >= 0 {
		return nominal + i + 1
	}
	if i := bytes.Index(reach, []byte(token)); i >= 0 {
		tok := nominal + i
		floor := tok - maxPrefix
		if _, start, ok := parsePrefix(data[floor:], maxPrefix); ok {
			return floor + start
		}
	}
	return nominal
}
