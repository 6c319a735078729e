package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// parallelNodes is how many nodes are read at once. Each call of Ray's state and log API takes one of
// the head's 100 slots, which other clients need too (RAY_STATE_SERVER_MAX_HTTP_REQUEST).
const parallelNodes = 16

// Copies says which job's files are copied, and where to.
type Copies struct {
	SubmissionID string
	// Dir is the folder that has a folder for each job, as Archive's. The copies are on its file system,
	// so that Archive only renames them.
	Dir string
	// Token is removed from the copies; empty for none.
	Token string
}

// Collector keeps the newest complete copy of every file of one job on this machine's disk. Collect
// runs again and again while the job runs, because files on a failed node are lost; Finish runs once
// after the job ended. Its methods must not be called at the same time.
type Collector struct {
	ray    *rayapi.Client
	jobID  string
	token  string
	store  store
	budget budget

	mu    sync.Mutex // several nodes are read at once
	files map[fileKey]int64
	bytes int64 // of all files together
}

type fileKey struct{ node, base string }

// NewCollector returns a collector of one job's files. Close must be called at the end.
func NewCollector(ray *rayapi.Client, to Copies) *Collector {
	return &Collector{
		ray:    ray,
		jobID:  to.SubmissionID,
		token:  to.Token,
		store:  newStore(to),
		budget: budget{files: maxFiles, bytes: maxBytes},
		files:  map[fileKey]int64{},
	}
}

// Close removes the copies that Archive did not move.
func (c *Collector) Close() error { return c.store.close() }

// Collect reads every file of every node that is alive. What cannot be read is in the error; what
// can be read is kept. Copies of a running job may be incomplete; only Finish makes them evidence.
func (c *Collector) Collect(ctx context.Context) error {
	return c.gaps(c.pass(ctx, map[fileKey]bool{}))
}

// gaps joins failures into one error; nil for none.
func (c *Collector) gaps(failures []error) error {
	if len(failures) == 0 {
		return nil
	}
	return fmt.Errorf("collecting evidence of %q: %w", c.jobID, errors.Join(failures...))
}

// pass reads what every node that is alive lists, except what is in fresh, and adds what it read to
// fresh.
func (c *Collector) pass(ctx context.Context, fresh map[fileKey]bool) []error {
	nodes, err := c.ray.Nodes(ctx)
	if err != nil {
		return []error{err}
	}
	var alive []string
	for _, node := range nodes {
		if node.State == rayapi.Alive {
			alive = append(alive, node.ID)
		}
	}
	listed, failures := make([][]string, len(alive)), make([][]error, len(alive))
	each(len(alive), func(i int) {
		names, err := c.list(ctx, alive[i])
		if err != nil {
			failures[i] = append(failures[i], err)
		}
		listed[i] = slices.DeleteFunc(names, func(name string) bool { return fresh[fileKey{alive[i], name}] })
	})
	// Counted before anything is read: every name costs a request.
	if len(fresh)+len(slices.Concat(listed...)) > c.budget.files {
		return append(slices.Concat(failures...), c.budget.tooManyFiles())
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	each(len(alive), func(i int) {
		for _, name := range listed[i] {
			if inner.Err() != nil {
				return
			}
			key := fileKey{alive[i], name}
			err := c.read(inner, key)
			switch {
			case err == nil:
				c.mu.Lock()
				fresh[key] = true
				c.mu.Unlock()
			case inner.Err() != nil: // another file ended the pass
			case errors.Is(err, ErrTooMuch) || errors.Is(err, ErrNotStored):
				// Going on would download up to the limit for each further file.
				stop(err)
			default:
				failures[i] = append(failures[i], err)
			}
		}
	})
	if inner.Err() != nil {
		return append(slices.Concat(failures...), context.Cause(inner))
	}
	return slices.Concat(failures...)
}

// each calls do with 0 to n-1, several at once, and waits for all.
func each(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(parallelNodes)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait() //nolint:errcheck // nothing fails
}

// read replaces the copy of one file, within the budget.
func (c *Collector) read(ctx context.Context, key fileKey) error {
	if err := c.take(key); err != nil {
		return err
	}
	part := &part{collector: c, to: key.node + "/" + key.base}
	err := c.ray.CopyLog(ctx, key.node, c.folder()+key.base, rayapi.MaxLogBytes, part.begin)
	err = part.end(err)
	if errors.Is(err, rayapi.ErrTooLong) {
		err = fmt.Errorf("%w: %w", ErrTooMuch, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.files[key]
	if err != nil {
		c.bytes += old - part.size // the old copy stays
		return err
	}
	c.files[key] = part.size
	return nil
}

// take makes room for a new copy of a file.
func (c *Collector) take(key fileKey) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, held := c.files[key]
	if !held && len(c.files) >= c.budget.files {
		return c.budget.tooManyFiles()
	}
	c.bytes -= old
	return nil
}

// grow adds to the size of all files.
func (c *Collector) grow(bytes int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes+bytes > c.budget.bytes {
		return fmt.Errorf("%w: more than %d bytes in %d files", ErrTooMuch, c.budget.bytes, len(c.files)+1)
	}
	c.bytes += bytes
	return nil
}

// Files returns what was collected, in order of name. A name that exists on two nodes is prefixed
// with the first eight digits of the node's id, or with the whole id where these are equal too.
func (c *Collector) Files() []File {
	shared := map[string]int{}
	short := map[string]int{}
	for key := range c.files {
		shared[key.base]++
		short[shortName(key)]++
	}
	list := make([]File, 0, len(c.files))
	for key, size := range c.files {
		file := File{Node: key.node, Path: c.store.path(key.node + "/" + key.base), Size: size}
		switch {
		case shared[key.base] == 1:
			file.Name = key.base
		case short[shortName(key)] == 1:
			file.Name = shortName(key)
		default:
			file.Name = key.node + "/" + key.base
		}
		list = append(list, file)
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func shortName(key fileKey) string { return fmt.Sprintf("%.8s/%s", key.node, key.base) }

// Refresh reads the files of one name again, among those that Collect found. It is much cheaper than
// Collect.
func (c *Collector) Refresh(ctx context.Context, name string) error {
	var failures []error
	for _, file := range c.Files() {
		if file.base() == name {
			failures = append(failures, c.read(ctx, file.key()))
		}
	}
	return errors.Join(failures...)
}

// DriverLog copies the output of the job's driver, which is for people and no evidence.
func (c *Collector) DriverLog(ctx context.Context, job rayapi.Job) (*File, error) {
	const name = "driver.log" // no node's id has a dot
	part := &part{collector: c, to: name, free: true}
	if err := part.end(c.ray.CopyDriverLog(ctx, job, rayapi.MaxLogBytes, part.begin)); err != nil {
		return nil, err
	}
	return &File{Name: name, Path: c.store.path(name), Size: part.size}, nil
}
