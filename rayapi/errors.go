package rayapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// maxErrorBytes is how much of an error reply is kept: a Python traceback fits.
const maxErrorBytes = 32 << 10

// Errors that callers distinguish with errors.Is.
var (
	// ErrNotFound means that the job, package or node does not exist on this head.
	ErrNotFound = errors.New("not found on this Ray head")
	// ErrUnauthorized means that the token is missing or wrong.
	ErrUnauthorized = errors.New("rejected by Ray's token authentication")
	// ErrUnreachable means that no complete HTTP response arrived.
	ErrUnreachable = errors.New("no answer from the Ray head")
	// ErrIncomplete means that a log file was cut off while it was read. It is not evidence.
	ErrIncomplete = errors.New("incomplete download")
	// ErrTooLong means that a log file is longer than the caller accepts. It is joined with
	// ErrIncomplete, because the part that was read is not evidence either.
	ErrTooLong = errors.New("longer than the limit")
	// ErrHeadRestarted means that the head has another session; jobs and logs of the recorded session
	// are lost.
	ErrHeadRestarted = errors.New("the Ray head restarted")
	// ErrStillActive means that a job did not stop in time; a PENDING one never does.
	ErrStillActive = errors.New("still active")
	// ErrStillPending means that the job that did not stop is PENDING. It is joined with
	// ErrStillActive.
	ErrStillPending = errors.New("still pending")
	// ErrInvalidID means a submission id that Ray may not handle correctly.
	ErrInvalidID = errors.New("invalid submission id")
)

// APIError is a reply with a status other than 200. Ray returns most errors as 500 with a Python
// traceback, so the text matters more than the status.
type APIError struct {
	Method, Path string
	Status       int
	Body         string
}

// Error returns the last line of the reply, which is the relevant one of a traceback.
func (e *APIError) Error() string {
	return fmt.Sprintf("%s %s: HTTP %d: %s", e.Method, e.Path, e.Status, lastLine(e.Body))
}

// Is makes errors.Is work with the class of the reply.
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

// alreadyExists reports whether a submission was refused because its id is used (HTTP 500, not 409).
func alreadyExists(err error) bool {
	var api *APIError
	return errors.As(err, &api) && api.says("already exists")
}

// noAgent reports whether the head's agent was not available yet, or has no free processes (verl#768,
// kuberay#2676). The job was not stored.
func noAgent(err error) bool {
	var api *APIError
	return errors.As(err, &api) && api.says("No available agent")
}

// transient reports whether the error of a read may go away by itself.
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
