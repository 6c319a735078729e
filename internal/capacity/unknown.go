package capacity

import (
	"errors"
	"fmt"
)

// ErrDenied means that the AWS identity lacks the permission to ask a question.
var ErrDenied = errors.New("the AWS identity lacks the permission")

// unknowns are the questions that AWS denied, each with the reason.
type unknowns []string

// denied reports whether a question was denied, and then adds it to the list.
func (u *unknowns) denied(question string, err error) bool {
	if !errors.Is(err, ErrDenied) {
		return false
	}
	*u = append(*u, fmt.Sprintf("%s is unknown: %v", question, err))
	return true
}
