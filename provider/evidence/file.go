package evidence

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/ray-train-efa/ray-train-efa/nccl"
)

// File is the copy of one file that a rank wrote.
type File struct {
	// Node is Ray's id of the node that the file is on.
	Node string
	// Name is unique among the files of a collection; the report keeps it.
	Name string
	// Path is where the copy is on this machine, Size its length in bytes. The text is not held in
	// memory: a job of 4,096 ranks leaves gigabytes.
	Path string
	Size int64
}

// base returns the name that the rank gave the file.
func (f File) base() string { return path.Base(f.Name) }

// key identifies the file; its name can get a prefix when another node has a file of the same name.
func (f File) key() fileKey { return fileKey{f.Node, f.base()} }

// source returns the file as a log.
func (f File) source() nccl.Source {
	return nccl.Source{
		Name: f.Name, Size: f.Size,
		Open: func() (io.ReadCloser, error) { return os.Open(f.Path) },
	}
}

// tailSize is more than the last lines of an output that a person reads, in bytes.
const tailSize = 64 << 10

// Tail returns the end of the file; nothing for nil, and for a copy that cannot be read.
func (f *File) Tail() []byte {
	if f == nil {
		return nil
	}
	copied, err := os.Open(f.Path)
	if err != nil {
		return nil
	}
	defer copied.Close()
	text, err := io.ReadAll(io.NewSectionReader(copied, max(0, f.Size-tailSize), tailSize))
	if err != nil {
		return nil
	}
	return text
}

// maxJSON is far more than a manifest or a result has, in bytes.
const maxJSON = 1 << 20

// decode reads a file with JSON, which is held in memory.
func (f File) decode(target any) error {
	if f.Size > maxJSON {
		return fmt.Errorf("it has %d bytes; at most %d are read", f.Size, maxJSON)
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return fmt.Errorf("reading the copy of %q: %w", f.Name, err)
	}
	return json.Unmarshal(text, target)
}
