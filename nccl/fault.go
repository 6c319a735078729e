package nccl

import (
	"errors"
	"runtime/debug"
)

// errCut is what a mapped file's pages turn into when another process cuts the
// file short, as logrotate's copytruncate does.
var errCut = errors.New("the file was cut short while it was read: copy it first, or wait until the job has ended")

// withoutFault runs f, which reads mapped pages, and turns the fault of a page
// that is gone into an error. Go would end the whole program otherwise.
func withoutFault(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		// Only faults of memory have an address; nothing else is caught.
		if _, fault := r.(interface{ Addr() uintptr }); !fault {
			panic(r)
		}
		err = errCut
	}()
	f()
	return nil
}
