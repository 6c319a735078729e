// Package exit carries exit statuses from commands up to main.
package exit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

// Error is an error with an exit status.
type Error struct {
	// Code is the exit status.
	Code int
	// Err is printed; nil if there is nothing to print.
	Err error
}

// Error returns the text of Err, or the exit status if there is none.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Status returns the exit status for a command's error, nil included, and prints its text to w. The
// status of an error that is not an Error is 1.
func Status(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	code := 1
	var e *Error
	if errors.As(err, &e) {
		code = e.Code
		if e.Err == nil {
			return code
		}
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = screen.Printable(line) // file names and answers of servers may hold terminal commands
	}
	// Nothing can be done about a standard error that cannot be written to.
	_, _ = fmt.Fprintln(w, "raytrain:", strings.Join(lines, "\n"))
	return code
}
