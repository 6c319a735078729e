package store

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// stateFile is the file in Options.Dir that contains the account.
const stateFile = "account.json"

// stateFormat is the version of the file's layout.
const stateFormat = 2

// state is the stored state of the account.
type state struct {
	Format    int    `json:"format"`
	Rehearsed bool   `json:"rehearsed"`
	AccountID string `json:"accountId"`
	Region    string `json:"region"`
	// TokenKey signs the tokens of `aws eks get-token`.
	TokenKey []byte     `json:"tokenKey"`
	Faults   api.Faults `json:"faults"`

	types map[string]AnyType
	// tables holds a Table of each type by its token.
	tables map[string]any
}

// Op is one operation on the account's state, under its lock.
type Op struct {
	*state
	Now time.Time
}

// ARN builds an ARN of this account and region.
func (s *state) ARN(service, rest string) string {
	return fmt.Sprintf("arn:aws:%s:%s:%s:%s", service, s.Region, s.AccountID, rest)
}

// CallerARN is the ARN of the account's only caller.
func (s *state) CallerARN() string {
	return fmt.Sprintf("arn:aws:iam::%s:user/rehearsal", s.AccountID)
}

// newState returns the state of an empty account.
func newState(region string) (*state, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making the key that signs tokens: %w", err)
	}
	return &state{
		Format:    stateFormat,
		Rehearsed: true,
		// 111122223333 is the account that AWS's own documentation uses in examples.
		AccountID: "111122223333",
		Region:    region,
		TokenKey:  key,
	}, nil
}

// loadState reads the account from a folder; a missing file is an empty account.
func loadState(dir, region string, types map[string]AnyType) (*state, error) {
	path := filepath.Join(dir, stateFile)
	s, err := newState(region)
	if err != nil {
		return nil, err
	}
	var stored struct {
		Tables map[string]json.RawMessage `json:"tables"`
	}
	body, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("reading the account: %w", err)
	default:
		if err := errors.Join(json.Unmarshal(body, s), json.Unmarshal(body, &stored)); err != nil {
			return nil, fmt.Errorf("decoding %q: %w", path, err)
		}
	}
	if s.Format != stateFormat {
		return nil, fmt.Errorf(
			"reading %q: its format is %d, this program reads %d; start a new rehearsal", path,
			s.Format, stateFormat)
	}
	if s.Region != region {
		return nil, fmt.Errorf("reading %q: it is an account of region %q, not %q", path, s.Region,
			region)
	}
	s.types, s.tables = types, map[string]any{}
	for token, one := range types {
		if s.tables[token], err = one.load(stored.Tables[token]); err != nil {
			return nil, fmt.Errorf("reading %q: %w", path, err)
		}
	}
	return s, nil
}

// save writes the account atomically, so that a killed rehearsal can be resumed.
func (s *state) save(dir string) error {
	body, err := json.MarshalIndent(struct {
		*state
		Tables map[string]any `json:"tables"`
	}{s, s.tables}, "", " ")
	if err != nil {
		return fmt.Errorf("encoding the account: %w", err)
	}
	path := filepath.Join(dir, stateFile)
	if err := os.WriteFile(path+".new", body, 0o600); err != nil {
		return fmt.Errorf("writing the account: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replacing %q: %w", path, err)
	}
	return nil
}
