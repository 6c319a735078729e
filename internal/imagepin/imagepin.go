// Package imagepin turns an image's tag into its digest, once, and writes the digest into a stack's
// settings. The digest always comes from the registry.
package imagepin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"go.yaml.in/yaml/v3"

	"github.com/ray-train-efa/ray-train-efa/internal/image"
)

// The settings that Pin writes.
const (
	RepositoryKey = "ray-train-efa:imageRepository"
	DigestKey     = "ray-train-efa:imageDigest"
)

// DefaultTag is AWS's floating tag of the image that the project is written for.
const DefaultTag = "train-ml-cuda-v1.1"

// Request says what to pin and where.
type Request struct {
	// Project is the folder with Pulumi.yaml.
	Project string
	// Stack names the settings file, Pulumi.<Stack>.yaml.
	Stack string
	// Repository is the image without tag; empty keeps the stack's, or else the
	// project's default.
	Repository string
	// Tag is the tag to resolve.
	Tag string
}

// Pinned is what Pin wrote.
type Pinned struct {
	Repository, Tag, Digest string
	// File is the settings file.
	File string
	// Changed is false if the file already had this digest.
	Changed bool
}

// Pin resolves the tag and writes the digest, and the repository when the request
// names one, into the stack's settings. Comments and layout of the file stay.
func Pin(ctx context.Context, request Request) (Pinned, error) {
	file := filepath.Join(request.Project, "Pulumi."+request.Stack+".yaml")
	settings, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return Pinned{}, fmt.Errorf("reading the settings of stack %q: file %q does not exist; "+
			"next: use --stack or --project, or run pulumi stack init %s and pulumi config set (the first config set writes the file)",
			request.Stack, file, request.Stack)
	}
	if err != nil {
		return Pinned{}, fmt.Errorf("reading the settings of stack %q: %w", request.Stack, err)
	}
	repository, err := chooseRepository(request, settings)
	if err != nil {
		return Pinned{}, err
	}
	digest, err := resolve(ctx, repository, request.Tag, request.Stack)
	if err != nil {
		return Pinned{}, err
	}
	wanted := []setting{{DigestKey, digest}}
	if request.Repository != "" {
		wanted = append([]setting{{RepositoryKey, repository}}, wanted...)
	}
	edited, err := edit(settings, wanted)
	if err != nil {
		return Pinned{}, fmt.Errorf("editing %q: %w", file, err)
	}
	pinned := Pinned{Repository: repository, Tag: request.Tag, Digest: digest, File: file, Changed: string(edited) != string(settings)}
	if !pinned.Changed {
		return pinned, nil
	}
	return pinned, replaceFile(file, edited)
}

// chooseRepository takes the request's repository, the stack's, or the project's default.
func chooseRepository(request Request, settings []byte) (string, error) {
	if request.Repository != "" {
		return request.Repository, nil
	}
	var stack struct {
		Config map[string]yaml.Node `yaml:"config"`
	}
	if err := yaml.Unmarshal(settings, &stack); err != nil {
		return "", fmt.Errorf("reading the settings of stack %q: %w", request.Stack, err)
	}
	if node, ok := stack.Config[RepositoryKey]; ok && node.Value != "" {
		return node.Value, nil
	}
	path := filepath.Join(request.Project, "Pulumi.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the project's default repository: %w; next: use --repository, or run in the folder with Pulumi.yaml", err)
	}
	var project struct {
		Config struct {
			ImageRepository struct {
				Default string `yaml:"default"`
			} `yaml:"imageRepository"`
		} `yaml:"config"`
	}
	if err := yaml.Unmarshal(data, &project); err != nil {
		return "", fmt.Errorf("reading the project's default repository in %q: %w", path, err)
	}
	if project.Config.ImageRepository.Default == "" {
		return "", fmt.Errorf("reading the project's default repository: %q has none; next: use --repository", path)
	}
	return project.Config.ImageRepository.Default, nil
}

// resolve returns the digest that the registry has for the tag now. The stack is for the command in
// an error.
func resolve(ctx context.Context, repository, tag, stack string) (string, error) {
	if strings.HasPrefix(tag, "sha256:") || strings.Contains(repository, "@") {
		return "", fmt.Errorf("resolving %q of %q: this is already a digest; next: pulumi config set imageDigest DIGEST --stack %s",
			tag, repository, stack)
	}
	parsed, err := name.NewRepository(repository)
	if err != nil {
		return "", fmt.Errorf("reading repository %q: %w; next: use a registry and a path without tag, such as public.ecr.aws/deep-learning-containers/ray",
			repository, err)
	}
	ref, err := name.NewTag(parsed.Name()+":"+tag, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("reading tag %q: %w; next: use a tag of the image, such as %s", tag, err, DefaultTag)
	}
	found, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err == nil {
		return found.Digest.String(), nil
	}
	var refused *transport.Error
	if errors.As(err, &refused) {
		switch refused.StatusCode {
		case http.StatusNotFound:
			// A registry names the error in its reply. Source: OCI distribution specification, "Error Codes".
			if len(refused.Errors) == 0 {
				return "", fmt.Errorf("resolving tag %q of %q: %s does not answer as an image registry; next: check --repository: %w",
					tag, repository, parsed.RegistryStr(), err)
			}
			return "", fmt.Errorf("resolving tag %q: repository %q has no such tag, or does not exist; next: check --repository and --tag", tag, repository)
		case http.StatusUnauthorized, http.StatusForbidden:
			return "", fmt.Errorf("resolving tag %q of %q: access denied; next: docker login %s: %w",
				tag, repository, parsed.RegistryStr(), err)
		}
	}
	return "", fmt.Errorf("resolving tag %q of %q: the registry %s cannot be reached; next: check --repository and the network, "+
		"or set the digest directly: pulumi config set imageDigest sha256:... --stack %s: %w", tag, repository, parsed.RegistryStr(), stack, err)
}

// lookupTimeout bounds the question whether an image exists. A registry answers within a second.
const lookupTimeout = 15 * time.Second

// Exists reports whether the registry has the image. An error means that this is unknown, for example
// because the registry cannot be reached from here or wants other credentials.
func Exists(ctx context.Context, wanted image.Reference) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ref, err := name.NewDigest(wanted.String())
	if err != nil {
		return false, fmt.Errorf("reading image %q: %w", wanted, err)
	}
	_, err = remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	var refused *transport.Error
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound && len(refused.Errors) > 0:
		return false, nil
	default:
		return false, fmt.Errorf("looking for image %q: %w", wanted, err)
	}
}

// replaceFile writes the new settings in one step, with the old file's permissions.
func replaceFile(file string, content []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("reading the permissions of %q: %w", file, err)
	}
	temporary := file + ".new"
	if err := os.WriteFile(temporary, content, info.Mode().Perm()); err != nil {
		return fmt.Errorf("writing %q: %w", temporary, err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return errors.Join(fmt.Errorf("replacing %q: %w", file, err), os.Remove(temporary))
	}
	return nil
}
