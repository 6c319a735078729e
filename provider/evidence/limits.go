package evidence

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

// What Ray's head says comes from a pod that runs the user's code: its names
// become paths on this machine, and its files lie in this process's memory.

const (
	// maxBytes and maxFiles bound one collection. A rank leaves two files, and its
	// log is below 1 MiB at NCCL_DEBUG=INFO: this is enough for 1000 ranks.
	maxBytes = 1 << 30
	maxFiles = 4096
	// maxIDLength is above Ray's 56 hexadecimal digits, and maxNameLength what
	// file systems take.
	maxIDLength, maxNameLength = 64, 255
)

// ErrTooMuch means that the files of a job are more, or larger, than a collection
// takes.
var ErrTooMuch = errors.New("more evidence than is collected")

// ErrForeignName means that a node's id or a file's name is none that Ray or the
// training code gives: it must not become a path.
var ErrForeignName = errors.New("not a name that Ray or the training code gives")

// budget is what one collector may hold.
type budget struct {
	files int
	bytes int64
}

func (b budget) tooManyFiles() error {
	return fmt.Errorf("%w: more than %d files", ErrTooMuch, b.files)
}

// folder is the job's folder below a node's log folder, as every listed name
// must start.
func (c *Collector) folder() string { return "raytrain/" + c.jobID + "/" }

// list names the finished files that a node has in the job's folder. Names that
// must not become a path are left out, and in the error.
func (c *Collector) list(ctx context.Context, nodeID string) ([]string, error) {
	if !plainID(nodeID) {
		return nil, fmt.Errorf("listing the files of a node: %w: node id %.80q", ErrForeignName, nodeID)
	}
	names, err := c.ray.ListLogs(ctx, nodeID, c.folder()+"*")
	if err != nil {
		return nil, err
	}
	var good, foreign []string
	for _, name := range names {
		base, inside := strings.CutPrefix(name, c.folder())
		switch {
		case !inside || !plainName(base):
			foreign = append(foreign, name)
		case strings.HasPrefix(base, "."): // half-written
		default:
			good = append(good, base)
		}
	}
	if len(foreign) > 0 {
		return good, fmt.Errorf("listing the files of node %q: %w: %d of %d files, such as %.80q",
			nodeID, ErrForeignName, len(foreign), len(names), foreign[0])
	}
	return good, nil
}

// plainID tells ids that are letters and digits only, as Ray's hexadecimal ones
// are: no path that is made of such an id leads elsewhere.
func plainID(id string) bool {
	return id != "" && len(id) <= maxIDLength && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// plainName tells names of one file in one folder, on this system and on others,
// that a terminal prints as they are.
func plainName(name string) bool {
	return len(name) <= maxNameLength && filepath.IsLocal(name) && !strings.ContainsAny(name, `/\`) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
