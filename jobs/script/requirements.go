package script

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// ErrRequirements is wrapped by the errors about Python packages.
var ErrRequirements = errors.New("this line of the requirements is not allowed")

// pinned matches the hash of a requirement.
var pinned = regexp.MustCompile(`(^|\s)--hash=sha256:[0-9a-f]{64}(\s|$)`)

// ReadRequirements reads a requirements file of pip, in which each package has a hash, and returns a
// line for each package. The error names every line that is not allowed.
func ReadRequirements(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the requirements: %w", err)
	}
	var lines []string
	whole := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\\\n", " ")
	for line := range strings.Lines(whole) {
		words := strings.Fields(line)
		for i, word := range words { // the rest is a comment
			if strings.HasPrefix(word, "#") {
				words = words[:i]
				break
			}
		}
		if len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	if err := CheckRequirements(lines); err != nil {
		return nil, fmt.Errorf("reading %q: %w; next: uv pip compile --generate-hashes requirements.in -o %s",
			path, err, path)
	}
	return lines, nil
}

// CheckRequirements returns an error that names every line without a hash, and every line with an
// option of pip or with a password in its URL.
func CheckRequirements(lines []string) error {
	var problems []error
	refuse := func(line, reason string) {
		name, _, _ := strings.Cut(line, " ")
		problems = append(problems, fmt.Errorf("%.40q: %w: %s", name, ErrRequirements, reason))
	}
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "-"):
			refuse(line, "options are not; pip's configuration in the image names the package index")
		case hasPassword(line):
			// Without the line, which has the password.
			refuse("", "a URL has a password, and Ray shows the packages to everyone who can read jobs")
		case !pinned.MatchString(line):
			refuse(line, "it has no --hash=sha256:..., so that the package could change between two runs")
		}
	}
	return errors.Join(problems...)
}

// hasPassword reports whether a text contains a URL with a password, or with a user, which is how tokens
// are written.
func hasPassword(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if address, err := url.Parse(word); err == nil && address.Host != "" && address.User != nil {
			return true
		}
	}
	return false
}
