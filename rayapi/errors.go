package rayapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// maxErrorBytes is how much of an error reply is kept: a Python traceback fits.
const maxErrorBytes = 32 << 10

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound: the job, package or node does not exist on this head.
	ErrNotFound = errors.New("not found on this Ray head")
	// ErrUnauthorized: the token is missing or wrong.
	ErrUnauthorized = errors.New("refused by Ray's token authentication")
	// ErrUnreachable: no complete HTTP reply came back.
	ErrUnreachable = errors.New("no answer from the Ray head")
	// ErrIncomplete: a log file was cut off while it was read. What was read
	// is not evidence.
	ErrIncomplete = errors.New("incomplete download")
	// ErrTooLong: a log file holds more than the caller takes. It comes with
	// ErrIncomplete: the part that was read is not evidence either.
	ErrTooLong = errors.New("longer than is read")
	// ErrHeadRestarted: the session is another one; jobs and logs of the
	// session that was recorded are gone.
	ErrHeadRestarted = errors.New("the Ray head restarted")
	// ErrStillActive: a job did not stop in time, as a PENDING one never does.
	ErrStillActive = errors.New("still active")
	// ErrInvalidID: a submission id that Ray might mishandle.
	ErrInvalidID = errors.New("invalid submission id")
)

// APIError is a reply with a status other than 200. Ray answers most mistakes
// with 500 and a Python traceback, so the text decides more than the status.
type APIError struct {
	Method, Path string
	Status       int
	Body         string
}

// Error shows the last line of the reply: of a traceback, the one that matters.
func (e *APIError) Error() string {
	return fmt.Sprintf("%s %s: HTTP %d: %s", e.Method, e.Path, e.Status, lastLine(e.Body))
}

// Is lets errors.Is find the class of the reply.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	}
	return false
}

func (e *APIError) says(text string) bool { return strings.Contains(e.Body, text) }

// alreadyExists: the answer to a second submission under one id, in any state
// and with any body (HTTP 500, not 409).
func alreadyExists(err error) bool {
	var api *APIError
	return errors.As(err, &api) && api.says("already exists")
}

// noAgent: the head's agent is not up yet, or is starved of processes
// (verl#768, kuberay#2676). The job was not stored.
func noAgent(err error) bool {
	var api *APIError
	return errors.As(err, &api) && api.says("No available agent")
}

// transient tells errors of a read that may vanish by themselves.
func transient(err error) bool {
	var api *APIError
	if errors.As(err, &api) {
		return api.Status == http.StatusTooManyRequests ||
			api.Status == http.StatusBadGateway || api.Status == http.StatusServiceUnavailable ||
			api.Status == http.StatusGatewayTimeout
	}
	return errors.Is(err, ErrUnreachable)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return strings.TrimSpace(text)
}
