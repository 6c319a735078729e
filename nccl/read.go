package nccl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

const (
	// blockSize is the unit in which a log is read and parsed.
	blockSize = 1 << 20
	// largeSize is the size from which a log's blocks are parsed in parallel;
	// smaller ones are each read by one worker.
	largeSize = 4 << 20
	// lookAhead is how much of what follows a block is at hand while it is parsed.
	lookAhead = 8 << 10
)

// errCut reports a log that was cut short while it was read, as logrotate's
// copytruncate does.
var errCut = errors.New("the file was cut short while it was read: copy it first, or wait until the job has ended")

// Judge reads every source once and says whether all inter-node traffic in
// them used EFA. An error means that evidence could not be read; it is never a
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

// all reads the sources in parallel. Large ones come last, one after the other,
// because each keeps all workers busy by itself.
func (rd *reader) all(ctx context.Context, sources []Source) ([]*logFile, error) {
	files := make([]*logFile, len(sources))
	errs := make([]error, len(sources))
	var large []int
	small := make(chan int)
	var wg sync.WaitGroup
	for range min(rd.workers, len(sources)) {
		wg.Go(func() {
			scan, blk := newScanner(rd.grammar), &block{}
			for i := range small {
				files[i], errs[i] = read(sources[i], i, func(f *logFile, in *input) error {
					return sequential(ctx, f, in, scan, blk)
				})
			}
		})
	}
	for i, src := range sources {
		if src.Size >= largeSize {
			large = append(large, i)
			continue
		}
		small <- i
	}
	close(small)
	wg.Wait()
	for _, i := range large {
		files[i], errs[i] = read(sources[i], i, func(f *logFile, in *input) error { return rd.parallel(ctx, f, in) })
	}
	return files, errors.Join(errs...)
}

// read opens a source, has it parsed, and checks that all of it was there.
func read(src Source, index int, parse func(f *logFile, in *input) error) (f *logFile, err error) {
	r, err := src.Open()
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	defer func() {
		if closing := r.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("closing %q: %w", src.Name, closing))
		}
	}()
	f = newLogFile(src.Name, index)
	in := &input{r: r, last: '\n'}
	if err = parse(f, in); err == nil && in.read < src.Size {
		err = errCut
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	f.cutTail = in.last != '\n' && f.infos > 0
	return f, nil
}

// sequential parses a log block by block.
func sequential(ctx context.Context, f *logFile, in *input, scan *scanner, blk *block) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if more, err = in.next(blk); err != nil {
			return err
		}
		scan.scan(blk)
		f.apply(blk)
	}
	return nil
}

// parallel parses a large log: one goroutine reads its blocks, the workers parse
// them, and the caller applies them to the model in file order.
func (rd *reader) parallel(ctx context.Context, f *logFile, in *input) error {
	type job struct {
		blk  *block
		done chan struct{}
	}
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
				s.scan(j.blk)
				close(j.done)
			}
		})
	}
	var readErr error
	wg.Go(func() {
		defer close(todo)
		defer close(order)
		for more := true; more && readErr == nil; {
			j := &job{blk: <-free, done: make(chan struct{})}
			if more, readErr = in.next(j.blk); readErr != nil {
				return
			}
			todo <- j
			order <- j
			readErr = ctx.Err()
		}
	})
	for j := range order {
		<-j.done
		f.apply(j.blk)
		free <- j.blk
	}
	wg.Wait()
	return readErr
}
