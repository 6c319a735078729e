package api

import "fmt"

// Error is an error that AWS would have returned.
type Error struct {
	// Operation is the AWS API that failed, such as "EC2: DeleteVpc".
	Operation string `json:"operation"`
	// Code is AWS's error code, such as DependencyViolation.
	Code string `json:"code"`
	// Message is the full error message.
	Message string `json:"message"`
	// StatusCode is the HTTP status that comes with the code.
	StatusCode int `json:"statusCode"`
}

// Error formats the error as the AWS SDK for Go does, so that callers can search for the same text.
func (e *Error) Error() string {
	return fmt.Sprintf("operation error %s, https response error StatusCode: %d, api error %s: %s",
		e.Operation, e.StatusCode, e.Code, e.Message)
}

// Errorf returns an error with status 400, which most of AWS's client errors have.
// The account fills in the operation.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), StatusCode: 400}
}

// WithStatus returns the error with another HTTP status.
func (e *Error) WithStatus(status int) *Error {
	changed := *e
	changed.StatusCode = status
	return &changed
}
