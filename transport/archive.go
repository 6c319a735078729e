package transport

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// stream is a reader with everything below it that must be closed.
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

// maxLayers bounds nested compression.
const maxLayers = 4

// expand undoes compression, layer by layer, and says whether a plain log or a
// tar archive is left.
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
		default:
			s.Reader = b
			return s, f, nil
		}
	}
	return nil, formatPlain, errors.New("more than four layers of compression")
}

// maxMember bounds what one archive member may hold once unpacked: members are
// kept in memory, because an archive can only be read once through.
const maxMember = 1 << 30

// members reads the regular files of a tar archive. A member may itself be
// compressed, as rotated logs are; an archive in an archive is an error, because
// its logs would be left out.
func members(name string, r io.Reader) ([]Source, error) {
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
			return out, fmt.Errorf("reading %q: an archive inside an archive; unpack it first", member)
		}
		data, err := io.ReadAll(io.LimitReader(plain, maxMember+1))
		if err = errors.Join(err, plain.Close()); err != nil {
			return out, fmt.Errorf("reading %q: %w", member, err)
		}
		if len(data) > maxMember {
			return out, fmt.Errorf("reading %q: more than %d bytes; unpack the archive first", member, maxMember)
		}
		out = append(out, Source{Name: member, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}})
	}
}
