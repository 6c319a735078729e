package nccl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Collect turns command-line paths into sources: files, folders (walked, in
// name order), "-" for stdin, .gz and .zst files, and tar archives, plain or
// compressed. Archives and compressed files are known by their first bytes, not
// by their names; so is UTF-16, which PowerShell's > writes. A pipe, such as a
// shell's <(command), is read as stdin is. Paths that cannot be read are an
// error, which names them all, because evidence that is not read is incomplete.
func Collect(paths []string, stdin io.Reader) ([]Source, error) {
	c := collector{seen: map[string]bool{}}
	var problems []error
	for _, path := range paths {
		problems = append(problems, c.path(path, stdin))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if len(c.out) == 0 {
		return nil, fmt.Errorf("collecting logs from %q: no files found", strings.Join(paths, " "))
	}
	addAddresses(c.out)
	return c.out, nil
}

// collector gathers sources; a file that is named twice is taken once.
type collector struct {
	out   []Source
	seen  map[string]bool
	stdin bool
}

func (c *collector) path(path string, stdin io.Reader) error {
	if path == "-" {
		return c.standardInput(stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("collecting logs: %w", err)
	}
	switch {
	case info.Mode().IsRegular():
		return c.file(path)
	case !info.IsDir():
		return c.pipe(path)
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("collecting logs: %w", err)
		}
		if d.IsDir() {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			// Ray's session_latest and kubelet's log folders are links to files
			// elsewhere; a link to a folder is not followed, it may be a cycle.
			target, err := os.Stat(p)
			if err != nil {
				return fmt.Errorf("collecting logs: %w", err)
			}
			if !target.Mode().IsRegular() {
				return nil
			}
		} else if !d.Type().IsRegular() {
			return nil
		}
		return c.file(p)
	})
}

func (c *collector) standardInput(stdin io.Reader) error {
	if c.stdin {
		return errors.New("collecting logs: - (stdin) is given twice")
	}
	c.stdin = true
	if stdin == nil {
		return errors.New("collecting logs: no stdin to read")
	}
	return c.reader("-", "", func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil })
}

// pipe adds a path that is not a regular file: a named pipe, a shell's <(command), a device. It can
// be read only once.
func (c *collector) pipe(path string) error {
	return c.reader(path, "", func() (io.ReadCloser, error) { return os.Open(path) })
}

// file adds one file on disk.
func (c *collector) file(path string) error {
	key := path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		key = target
	}
	if abs, err := filepath.Abs(key); err == nil {
		key = abs
	}
	if c.seen[key] {
		return nil
	}
	c.seen[key] = true
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	head, size, err := peekFile(path)
	if err != nil {
		return fmt.Errorf("collecting logs: %w", err)
	}
	if formatOf(head) == formatPlain {
		c.out = append(c.out, Source{Name: path, Size: size, Open: open})
		return nil
	}
	return c.reader(path, path, open)
}

// reader adds a stream that may be compressed or an archive.
func (c *collector) reader(name, path string, open func() (io.ReadCloser, error)) error {
	r, err := open()
	if err != nil {
		return fmt.Errorf("collecting logs: %w", err)
	}
	plain, format, err := expand(r)
	if err != nil {
		return errors.Join(fmt.Errorf("collecting logs from %q: %w", name, err), r.Close())
	}
	if format == formatTar {
		members, err := members(name, plain)
		c.out = append(c.out, members...)
		return errors.Join(err, plain.Close())
	}
	if path == "" { // a stream can be read only once, so continue with the open one
		c.out = append(c.out, Source{Name: name, Open: once(plain)})
		return nil
	}
	if err := plain.Close(); err != nil {
		return fmt.Errorf("collecting logs from %q: %w", name, err)
	}
	c.out = append(c.out, Source{Name: name, Open: func() (io.ReadCloser, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		plain, _, err := expand(r)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return plain, nil
	}})
	return nil
}

// once opens a stream that cannot be opened again.
func once(r io.ReadCloser) func() (io.ReadCloser, error) {
	used := false
	return func() (io.ReadCloser, error) {
		if used {
			return nil, errors.New("the stream was read already")
		}
		used = true
		return r, nil
	}
}

// headLen is the number of bytes needed to detect a format; tar's magic is at offset 257.
const headLen = 512

// peekFile returns a file's first bytes and its size.
func peekFile(path string) (head []byte, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	head = make([]byte, headLen)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], info.Size(), err
}

// format is how a stream's bytes are packed.
type format uint8

const (
	formatPlain format = iota
	formatGzip
	formatZstd
	formatTar
	formatUTF16
)

func formatOf(head []byte) format {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return formatGzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return formatZstd
	case isUTF16(head):
		return formatUTF16
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return formatTar
	default:
		return formatPlain
	}
}

// isUTF16 reports whether head starts with a byte-order mark followed by an ASCII character.
func isUTF16(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch mark := [2]byte{head[0], head[1]}; mark {
	case [2]byte{0xff, 0xfe}:
		return head[2] != 0 && head[3] == 0
	case [2]byte{0xfe, 0xff}:
		return head[2] == 0 && head[3] != 0
	default:
		return false
	}
}

// peek looks at a stream's first bytes without consuming them.
func peek(r io.Reader) (*bufio.Reader, format, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(headLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, formatPlain, err
	}
	return b, formatOf(head), nil
}
