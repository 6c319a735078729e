package evidence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// ErrNotStored means that this machine could not store a copy, for example because its disk is full.
// It says nothing about the run.
var ErrNotStored = errors.New("the copies of the job's files could not be stored on this machine")

// incoming is the folder of the copies within a job's folder. An update that is killed leaves it; the
// next collection of the same job removes it.
const incoming = "incoming"

// store is a folder for copies on this machine. It is made when the first copy is.
type store struct {
	dir, id string

	mu   sync.Mutex
	root *os.Root
}

func newStore(to Copies) store { return store{dir: to.Dir, id: to.SubmissionID} }

// path returns where a copy is.
func (s *store) path(name string) string {
	return filepath.Join(s.dir, s.id, incoming, filepath.FromSlash(name))
}

// open makes the folder and returns it. The names of copies come from the cluster, so the operating
// system enforces the folder (os.Root).
func (s *store) open() (*os.Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != nil {
		return s.root, nil
	}
	folder := s.path("")
	err := os.RemoveAll(folder)
	if err == nil {
		err = os.MkdirAll(folder, folderMode)
	}
	if err == nil {
		s.root, err = os.OpenRoot(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return s.root, nil
}

// close removes the folder, and the job's folder if nothing else is in it.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return nil
	}
	err := errors.Join(s.root.Close(), os.RemoveAll(s.path("")))
	s.root = nil
	if err != nil {
		return fmt.Errorf("removing the copies of the job's files: %w", err)
	}
	_ = os.Remove(filepath.Dir(s.path(""))) //nolint:errcheck // it fails if the report is in it
	return nil
}

// part is a copy that is not complete yet.
type part struct {
	collector *Collector
	// to is the name of the complete copy. Of each folder, one file is copied at a time.
	to string
	// free reports whether the copy does not count for the budget.
	free bool
	// size is the length so far.
	size int64

	file     *os.File
	redactor *Redactor
}

// begin begins the copy, also again.
func (p *part) begin() (io.Writer, error) {
	root, err := p.collector.store.open()
	if err != nil {
		return nil, err
	}
	if err := p.discard(); err != nil {
		return nil, err
	}
	err = root.MkdirAll(path.Dir(p.to), folderMode)
	if err == nil {
		p.file, err = root.OpenFile(p.name(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	p.redactor = NewRedactor(p, p.collector.token)
	return p.redactor, nil
}

// name is that of the incomplete copy: no rank's file begins with a dot.
func (p *part) name() string { return path.Join(path.Dir(p.to), ".part") }

// Write writes the redacted text.
func (p *part) Write(text []byte) (int, error) {
	if !p.free {
		if err := p.collector.grow(int64(len(text))); err != nil {
			return 0, err
		}
	}
	p.size += int64(len(text))
	n, err := p.file.Write(text)
	if err != nil {
		return n, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return n, nil
}

// discard drops what was written.
func (p *part) discard() error {
	if p.file == nil {
		return nil
	}
	if !p.free {
		_ = p.collector.grow(-p.size) //nolint:errcheck // less never exceeds the budget
	}
	p.size = 0
	err := p.file.Close()
	p.file = nil
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return nil
}

// end makes the copy the newest one if err is nil, and returns why it is not.
func (p *part) end(err error) error {
	if p.file == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, p.discard())
	}
	if err := p.redactor.Flush(); err != nil {
		return errors.Join(err, p.discard())
	}
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	root, err := p.collector.store.open()
	if err == nil {
		err = root.Rename(p.name(), p.to)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return nil
}
