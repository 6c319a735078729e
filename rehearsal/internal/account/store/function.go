package store

import (
	"bytes"
	"encoding/json"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// Function implements a provider function. It runs under the account's lock.
type Function func(o *Op, args json.RawMessage) (any, error)

// Answer returns a Function that decodes the arguments and rejects unknown ones.
func Answer[A any](f func(o *Op, args A) (any, error)) Function {
	return func(o *Op, raw json.RawMessage) (any, error) {
		var args A
		if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&args); err != nil {
				return nil, api.Errorf("ValidationError", "decoding the arguments: %v", err)
			}
		}
		return f(o, args)
	}
}
