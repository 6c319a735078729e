package nccl

import (
	"bytes"
	"io"
)

// Source is one log: a name that findings cite, and a way to read its bytes.
type Source struct {
	// Name is what findings and the rank table call this log. A member of an
	// archive is named "archive.tar.gz:member".
	Name string
	// Size is the minimum number of bytes of the log; 0 if unknown. Fewer bytes are an error.
	Size int64
	// Address is the IP address of the host that wrote the log, if its collector knows it, for
	// example from a manifest. It distinguishes hosts where NCCL's Bootstrap lines are missing.
	Address string
	// Open returns the log's bytes, already decompressed.
	Open func() (io.ReadCloser, error)
}

// BytesSource returns a Source over bytes in memory, such as a test's or a log that
// an API returned.
func BytesSource(name string, data []byte) Source {
	return Source{
		Name: name,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}
