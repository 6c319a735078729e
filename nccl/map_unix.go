//go:build unix

package nccl

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapping is a regular file in memory, read-only. The pages are the kernel's
// cache, not this process's memory.
type mapping struct {
	data []byte
	file *os.File
}

// mapFile maps a regular file. Close the mapping when done.
func mapFile(path string) (m *mapping, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	m = &mapping{file: f}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Size() == 0 {
		return m, nil
	}
	if m.data, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, errors.Join(os.NewSyscallError("mmap", err), f.Close())
	}
	return m, nil
}

// intact reports as an error that the file is shorter now than when it was
// mapped: what stood behind its end may have been read as zeros.
func (m *mapping) intact() error {
	info, err := m.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < int64(len(m.data)) {
		return errCut
	}
	return nil
}

// close gives the pages and the file back.
func (m *mapping) close() error {
	var err error
	if m.data != nil {
		err = os.NewSyscallError("munmap", unix.Munmap(m.data))
		m.data = nil
	}
	return errors.Join(err, m.file.Close())
}
