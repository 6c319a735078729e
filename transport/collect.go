package transport

import "io"

// Collect turns command-line paths into sources: files, folders (walked, in
// name order), "-" for stdin, .gz and .zst files, and tar archives, plain or
// compressed. The first path that cannot be read is an error.
func Collect(paths []string, stdin io.Reader) ([]Source, error) {
	return nil, nil
}
