package nccl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/verdict"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// largeSize is the size from which a log's blocks are parsed in parallel;
// smaller ones are each read by one worker.
const largeSize = 4 << 20

// errCut reports a log that became shorter while it was read, as logrotate's copytruncate does.
var errCut = errors.New("the file became shorter while it was read; next: copy it first, or wait until the job has ended")

// Judge reads all sources and reports whether all inter-node traffic used EFA. It returns an error
// only if a source cannot be read. The report is complete even when the verdict is Inconclusive.
func Judge(ctx context.Context, sources []Source, opts Options) (report.Report, error) {
	if len(sources) == 0 {
		return report.Report{}, errors.New("no logs to judge; next: name at least one file, folder or -")
	}
	rd := &reader{grammar: record.NewGrammar(), workers: runtime.GOMAXPROCS(0)}
	files, err := rd.all(ctx, sources)
	if err != nil {
		return report.Report{}, err
	}
	judged := verdict.Conclude(files, verdict.Expected(opts)).Report
	return judged, quote(ctx, judged.Findings, sources)
}

// reader parses sources into the model.
type reader struct {
	grammar *record.Grammar
	workers int
}

// all reads the sources in parallel. Large ones come last, one after the other,
// because each keeps all workers busy by itself.
func (rd *reader) all(ctx context.Context, sources []Source) ([]*model.File, error) {
	files := make([]*model.File, len(sources))
	errs := make([]error, len(sources))
	var large []int
	small := make(chan int)
	var wg sync.WaitGroup
	for range min(rd.workers, len(sources)) {
		wg.Go(func() {
			scan, blk := record.NewScanner(rd.grammar), &record.Block{}
			for i := range small {
				files[i], errs[i] = read(sources[i], i, func(f *model.File, in *record.Input) error {
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
		files[i], errs[i] = read(sources[i], i, func(f *model.File, in *record.Input) error { return rd.parallel(ctx, f, in) })
	}
	return files, errors.Join(errs...)
}

// read opens a source, has it parsed, and checks that all of it was there.
func read(src Source, index int, parse func(f *model.File, in *record.Input) error) (f *model.File, err error) {
	r, err := src.Open()
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	defer func() {
		if closing := r.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("closing %q: %w", src.Name, closing))
		}
	}()
	f = model.NewFile(src.Name, index)
	f.Address = src.Address
	in := &record.Input{R: r, Last: '\n'}
	if err = parse(f, in); err == nil && in.Read < src.Size {
		err = errCut
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", src.Name, err)
	}
	f.Rehearsed = in.Rehearsed
	f.CutTail = in.Last != '\n' && f.Infos > 0
	return f, nil
}

// sequential parses a log block by block.
func sequential(ctx context.Context, f *model.File, in *record.Input, scan *record.Scanner, blk *record.Block) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if more, err = in.Next(blk); err != nil {
			return err
		}
		scan.Scan(blk)
		f.Apply(blk)
	}
	return nil
}

// parallel parses a large log: one goroutine reads its blocks, the workers parse
// them, and the caller applies them to the model in file order.
func (rd *reader) parallel(ctx context.Context, f *model.File, in *record.Input) error {
	type job struct {
		blk  *record.Block
		done chan struct{}
	}
	inFlight := rd.workers * 4
	free := make(chan *record.Block, inFlight)
	for range inFlight {
		free <- &record.Block{}
	}
	todo := make(chan *job, inFlight)
	order := make(chan *job, inFlight)
	var wg sync.WaitGroup
	for range rd.workers {
		wg.Go(func() {
			s := record.NewScanner(rd.grammar)
			for j := range todo {
				s.Scan(j.blk)
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
			if more, readErr = in.Next(j.blk); readErr != nil {
				return
			}
			todo <- j
			order <- j
			readErr = ctx.Err()
		}
	})
	for j := range order {
		<-j.done
		f.Apply(j.blk)
		free <- j.blk
	}
	wg.Wait()
	return readErr
}
