package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// File is one file that a rank wrote.
type File struct {
	// Node is Ray's id of the node that the file is on.
	Node string
	// Name is unique among the files of a collection; the report keeps it.
	Name string
	Text []byte
}

// Collector keeps the newest complete copy of every file of one job. Collect runs again and again
// while the job runs, because files on a failed node are lost; Finish runs once after the job
// ended.
type Collector struct {
	ray    *rayapi.Client
	jobID  string
	files  map[fileKey]File
	bytes  int64 // of all files together
	budget budget
}

type fileKey struct{ node, base string }

// NewCollector returns a collector of one submission's files.
func NewCollector(ray *rayapi.Client, submissionID string) *Collector {
	return &Collector{
		ray:    ray,
		jobID:  submissionID,
		files:  map[fileKey]File{},
		budget: budget{files: maxFiles, bytes: maxBytes},
	}
}

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
	var failures []error
	listed := 0
	for _, node := range nodes {
		if node.State != rayapi.Alive {
			continue
		}
		names, err := c.list(ctx, node.ID)
		if err != nil {
			failures = append(failures, err)
		}
		// Counted before anything is read: every name costs a request.
		if listed += len(names); listed > c.budget.files {
			return append(failures, c.budget.tooManyFiles())
		}
		for _, name := range names {
			key := fileKey{node.ID, name}
			if fresh[key] {
				continue
			}
			err := c.read(ctx, key)
			switch {
			case err == nil:
				fresh[key] = true
			case errors.Is(err, ErrTooMuch):
				// Going on would download up to the limit for each further file.
				return append(failures, err)
			default:
				failures = append(failures, err)
			}
		}
	}
	return failures
}

// read replaces the copy of one file, within the budget.
func (c *Collector) read(ctx context.Context, key fileKey) error {
	old, held := c.files[key]
	if !held && len(c.files) >= c.budget.files {
		return c.budget.tooManyFiles()
	}
	others := c.bytes - int64(len(old.Text))
	text, err := c.ray.ReadLogAtMost(
		ctx,
		key.node,
		c.folder()+key.base,
		min(c.budget.bytes-others, rayapi.MaxLogBytes),
	)
	if errors.Is(err, rayapi.ErrTooLong) {
		return fmt.Errorf(
			"%w: %d bytes in %d files, and one more file: %w",
			ErrTooMuch,
			others,
			len(c.files),
			err,
		)
	}
	if err != nil {
		return err
	}
	c.files[key] = File{Node: key.node, Text: text}
	c.bytes = others + int64(len(text))
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
	for key, file := range c.files {
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
	for key := range c.files {
		if key.base == name {
			failures = append(failures, c.read(ctx, key))
		}
	}
	return errors.Join(failures...)
}
