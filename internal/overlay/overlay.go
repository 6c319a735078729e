// Package overlay changes source files without touching the checkout: it writes
// changed copies, and the list that makes Go's tools read them in place of the
// originals (go build -overlay). What proves tests by breaking code rests on it.
package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit is one change of one source file.
type Edit struct {
	// File is relative to the folder that the edits are for.
	File string
	// Search occurs in File exactly once and is replaced by Replace.
	Search, Replace string
}

// ErrOutOfStep reports an edit whose search text is not in its file exactly
// once: the source was changed and the edit was not.
var ErrOutOfStep = errors.New("edit is out of step with the sources")

// Sources returns the changed files below root, by their path relative to it.
func Sources(root string, edits ...Edit) (map[string]string, error) {
	sources := map[string]string{}
	for _, edit := range edits {
		text, edited := sources[edit.File]
		if !edited {
			read, err := os.ReadFile(filepath.Join(root, edit.File)) //nolint:gosec // a source file of this repository
			if err != nil {
				return nil, fmt.Errorf("reading the source: %w", err)
			}
			text = string(read)
		}
		if n := strings.Count(text, edit.Search); n != 1 {
			return nil, fmt.Errorf("%w: %q is %d times in %s", ErrOutOfStep, edit.Search, n, edit.File)
		}
		sources[edit.File] = strings.Replace(text, edit.Search, edit.Replace, 1)
	}
	return sources, nil
}

// Write writes the changed files into scratch, an empty folder, and returns the
// path of the list for -overlay.
func Write(root, scratch string, edits ...Edit) (list string, err error) {
	sources, err := Sources(root, edits...)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", fmt.Errorf("finding the sources: %w", err)
	}
	replaced := map[string]string{}
	for file, text := range sources {
		changed := filepath.Join(scratch, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("writing the changed source: %w", err)
		}
		replaced[filepath.Join(root, file)] = changed
	}
	body, err := json.Marshal(struct{ Replace map[string]string }{replaced})
	if err != nil {
		return "", fmt.Errorf("listing the overlay: %w", err)
	}
	list = filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(list, body, 0o600); err != nil {
		return "", fmt.Errorf("writing the overlay: %w", err)
	}
	return list, nil
}
