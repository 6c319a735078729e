// Package image names container images by digest, never by tag.
package image

import (
	"errors"
	"regexp"
)

// Digest identifies the bytes of an image: sha256:<64 hexadecimal digits>.
type Digest string

// Reference is a container image as a pod names it.
type Reference struct {
	// Repository is registry and path without tag or digest.
	Repository string
	// Digest is the image in the repository.
	Digest Digest
}

// Descriptions of the allowed values, for error messages.
const (
	DigestAllowed     = "sha256: followed by 64 hexadecimal digits"
	RepositoryAllowed = "registry and path, without tag or digest"
)

var (
	digestForm     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	repositoryForm = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+$`)
)

// ParseDigest checks the format of a digest, not whether the image exists.
func ParseDigest(text string) (Digest, error) {
	if !digestForm.MatchString(text) {
		return "", errors.New("not a digest")
	}
	return Digest(text), nil
}

// ParseRepository checks the form of a repository.
func ParseRepository(text string) (string, error) {
	if !repositoryForm.MatchString(text) {
		return "", errors.New("not a repository")
	}
	return text, nil
}

// String returns repository@digest.
func (r Reference) String() string { return r.Repository + "@" + string(r.Digest) }
