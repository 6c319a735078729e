package evidence

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

// The Ray head runs in a pod with the user's code, so its responses are not trusted: its names
// become paths on this machine, and its files fill this machine's disk.

const (
	// maxBytes and maxFiles bound one collection. A rank leaves two files, and its log is below 1 MiB
	// at NCCL_DEBUG=INFO: this is enough for 4,096 ranks and a restart by Ray Train.
	maxBytes = 10 << 30
	maxFiles = 4 * 4096
	// maxIDLength is above Ray's 56 hexadecimal digits; maxNameLength is the limit of file systems.
	maxIDLength, maxNameLength = 64, 255
)

// ErrTooMuch means that a job left more, or larger, files than a collection accepts.
var ErrTooMuch = errors.New("too much evidence")

// ErrForeignName means that a node's id or a file's name is not one that Ray or the training code
// uses, so it must not become a path.
var ErrForeignName = errors.New("not a name that Ray or the training code uses")

// budget is how much one collector may copy.
type budget struct {
	files int
	bytes int64
}

func (b budget) tooManyFiles() error {
	return fmt.Errorf("%w: more than %d files", ErrTooMuch, b.files)
}

// folder returns the job's folder below a node's log folder; every listed name must start with it.
func (c *Collector) folder() string { return "raytrain/" + c.jobID + "/" }

// list returns the names of the complete files in the job's folder on a node. Names that must not
// become a path are in the error instead.
func (c *Collector) list(ctx context.Context, nodeID string) ([]string, error) {
	if !plainID(nodeID) {
		return nil, fmt.Errorf(
			"listing the files of a node: %w: node id %.80q",
			ErrForeignName,
			nodeID,
		)
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

// plainID reports whether an id consists of letters and digits, as Ray's hexadecimal ones do: no path
// that contains such an id leads out of its folder.
func plainID(id string) bool {
	return id != "" && len(id) <= maxIDLength && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// plainName reports whether a name is that of one file in one folder, on any system, and has only
// printable characters.
func plainName(name string) bool {
	return len(name) <= maxNameLength && filepath.IsLocal(name) &&
		!strings.ContainsAny(name, `/\`) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
