package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// File is one file that a rank left behind.
type File struct {
	// Node is Ray's id of the node it lies on.
	Node string
	// Name is unique among the files of a collection; the report keeps it.
	Name string
	Text []byte
}

// Collector keeps the newest complete copy of every file of one job. It is
// asked again and again while the job runs (Collect), since the files of a node
// that died cannot be read any more, and once when the job is over (Finish).
type Collector struct {
	ray   *rayapi.Client
	jobID string
	files map[fileKey]File
}

type fileKey struct{ node, base string }

// NewCollector makes a collector of one submission's files.
func NewCollector(ray *rayapi.Client, submissionID string) *Collector {
	return &Collector{ray: ray, jobID: submissionID, files: map[fileKey]File{}}
}

// Collect reads every file of every living node. What one node or file does not
// yield is in the error; what the others yielded is kept. Copies of a job that
// runs may end anywhere: only Finish makes them evidence of the whole run.
func (c *Collector) Collect(ctx context.Context) error {
	return c.gaps(c.pass(ctx, map[fileKey]bool{}))
}

// gaps makes one error of what went wrong; nil for nothing.
func (c *Collector) gaps(failures []error) error {
	if len(failures) == 0 {
		return nil
	}
	return fmt.Errorf("collecting evidence of %q: %w", c.jobID, errors.Join(failures...))
}

// pass reads what every living node lists, except what is in fresh already, and
// adds what it read to fresh.
func (c *Collector) pass(ctx context.Context, fresh map[fileKey]bool) []error {
	nodes, err := c.ray.Nodes(ctx)
	if err != nil {
		return []error{err}
	}
	var failures []error
	for _, node := range nodes {
		if node.State != rayapi.Alive {
			continue
		}
		names, err := c.ray.ListLogs(ctx, node.ID, "raytrain/"+c.jobID+"/*")
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, name := range names {
			key := fileKey{node.ID, path.Base(name)}
			if fresh[key] || strings.HasPrefix(key.base, ".") { // half-written
				continue
			}
			text, err := c.ray.ReadLog(ctx, node.ID, name)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			c.files[key] = File{Node: node.ID, Text: text}
			fresh[key] = true
		}
	}
	return failures
}

// Files returns what was collected, in order of name. A name that two nodes
// share is told apart by the node's id.
func (c *Collector) Files() []File {
	shared := map[string]int{}
	for key := range c.files {
		shared[key.base]++
	}
	list := make([]File, 0, len(c.files))
	for key, file := range c.files {
		file.Name = key.base
		if shared[key.base] > 1 {
			file.Name = fmt.Sprintf("%.8s/%s", key.node, key.base)
		}
		list = append(list, file)
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
