package nccl

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
)

// stream is a reader and the closers below it.
type stream struct {
	io.Reader
	closers []func() error
}

// Close closes from the outermost layer inwards.
func (s *stream) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// maxLayers bounds nested compression, the encoding of the text included.
const maxLayers = 4

// expand undoes compression and UTF-16, layer by layer, and reports whether a plain log or a tar
// archive is left.
func expand(r io.ReadCloser) (*stream, format, error) {
	s := &stream{closers: []func() error{r.Close}}
	var in io.Reader = r
	for range maxLayers {
		b, f, err := peek(in)
		if err != nil {
			return nil, f, err
		}
		switch f {
		case formatGzip:
			z, err := gzip.NewReader(b)
			if err != nil {
				return nil, f, fmt.Errorf("reading gzip: %w", err)
			}
			s.closers = append(s.closers, z.Close)
			in = z
		case formatZstd:
			z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
			if err != nil {
				return nil, f, fmt.Errorf("reading zstd: %w", err)
			}
			s.closers = append(s.closers, func() error { z.Close(); return nil })
			in = z
		case formatUTF16:
			in = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(b)
		default:
			s.Reader = b
			return s, f, nil
		}
	}
	return nil, formatPlain, errors.New("more than four layers of compression")
}

// The maximum unpacked size of one archive member, and of all together, because a small archive can
// unpack to any size.
const (
	maxMember  = 1 << 30
	maxArchive = 16 << 30
)

// spool stores the members of an archive, which can be read only once, in an unlinked temporary
// file.
type spool struct {
	file *os.File
	size int64
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "raytrain-archive-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &spool{file: file}, nil
}

// add stores a stream and returns a function that reads it again.
func (s *spool) add(r io.Reader) (open func() (io.ReadCloser, error), err error) {
	start := s.size
	n, err := io.Copy(s.file, io.LimitReader(r, maxMember+1))
	s.size += n
	switch {
	case err != nil:
		return nil, err
	case n > maxMember:
		return nil, fmt.Errorf("the archive is too large: more than %d bytes in one file; next: unpack it first",
			int64(maxMember))
	case s.size > maxArchive:
		return nil, fmt.Errorf("the archive is too large: more than %d bytes; next: unpack it first",
			int64(maxArchive))
	}
	return func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(s.file, start, n)), nil
	}, nil
}

// members reads the regular files of a tar archive. A member may itself be
// compressed, as rotated logs are; an archive in an archive is an error, because
// its logs would be left out.
func members(name string, r io.Reader) ([]Source, error) {
	kept, err := newSpool()
	if err != nil {
		return nil, fmt.Errorf("unpacking archive %q: %w", name, err)
	}
	var out []Source
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("reading archive %q: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		member := name + ":" + h.Name
		plain, f, err := expand(io.NopCloser(bufio.NewReader(t)))
		if err != nil {
			return out, fmt.Errorf("reading %q: %w", member, err)
		}
		if f == formatTar {
			return out, fmt.Errorf("reading %q: an archive inside an archive; next: unpack it first", member)
		}
		open, err := kept.add(plain)
		if err = errors.Join(err, plain.Close()); err != nil {
			return out, fmt.Errorf("reading %q: %w", member, err)
		}
		out = append(out, Source{Name: member, Open: open})
	}
}
