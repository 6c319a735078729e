package imagepin

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/image"
)

// serveImage starts a registry on the loopback that holds one image as ray:v1,
// and returns the repository and the image's digest.
func serveImage(t *testing.T) (repository, digest string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository = strings.TrimPrefix(server.URL, "http://") + "/ray"
	pushed, err := random.Image(16, 1)
	require.NoError(t, err)
	tag, err := name.NewTag(repository + ":v1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(tag, pushed))
	hash, err := pushed.Digest()
	require.NoError(t, err)
	return repository, hash.String()
}

func writeProject(t *testing.T, repository, stack string) string {
	t.Helper()
	dir := t.TempDir()
	project := "name: ray-train-efa\nconfig:\n  imageRepository:\n    type: string\n    default: " + repository + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte(project), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.dev.yaml"), []byte(stack), 0o600))
	return dir
}

func TestPin(t *testing.T) {
	t.Parallel()
	repository, digest := serveImage(t)
	tests := []struct {
		name, project, stack, request string
		want                          string
	}{
		{
			name: "the project's default repository", project: repository, stack: "config: # all\n  a: b\n",
			want: "config: # all\n  a: b\n  ray-train-efa:imageDigest: " + digest + "\n",
		},
		{
			name: "the stack's repository", project: "example.invalid/none",
			stack: "config:\n  ray-train-efa:imageRepository: " + repository + "\n",
			want:  "config:\n  ray-train-efa:imageRepository: " + repository + "\n  ray-train-efa:imageDigest: " + digest + "\n",
		},
		{
			name: "the request's repository is written too", project: "example.invalid/none", stack: "config:\n  a: b\n", request: repository,
			want: "config:\n  a: b\n  ray-train-efa:imageRepository: " + repository + "\n  ray-train-efa:imageDigest: " + digest + "\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := writeProject(t, test.project, test.stack)
			request := Request{Project: dir, Stack: "dev", Repository: test.request, Tag: "v1"}
			pinned, err := Pin(context.Background(), request)
			require.NoError(t, err)
			file := filepath.Join(dir, "Pulumi.dev.yaml")
			assert.Equal(t, Pinned{Repository: repository, Tag: "v1", Digest: digest, File: file, Changed: true}, pinned)
			written, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, test.want, string(written))
			info, err := os.Stat(file)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			pinned, err = Pin(context.Background(), request)
			require.NoError(t, err)
			assert.False(t, pinned.Changed)
		})
	}
}

func TestPinRefusesAndLeavesTheFile(t *testing.T) {
	t.Parallel()
	repository, digest := serveImage(t)
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(denied.Close)
	website := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(website.Close)
	tests := []struct {
		name string
		in   Request
		want string
	}{
		{"no such tag", Request{Stack: "dev", Tag: "v2"}, `has no such tag, or does not exist`},
		{"no such repository", Request{Stack: "dev", Repository: repository + "s", Tag: "v1"}, `has no such tag, or does not exist`},
		{"a bad repository", Request{Stack: "dev", Repository: "Not A Name", Tag: "v1"}, `reading repository "Not A Name"`},
		{"a bad tag", Request{Stack: "dev", Tag: "no tag"}, `reading tag "no tag"`},
		{"a bad tag, with what to do", Request{Stack: "dev", Tag: "no tag"}, "next: use a tag of the image, such as train-"},
		{"an empty tag", Request{Stack: "dev", Tag: ""}, "next: use a tag of the image, such as train-"},
		{
			"no registry", Request{Stack: "dev", Repository: strings.TrimPrefix(website.URL, "http://") + "/ray", Tag: "v1"},
			"does not answer as an image registry; next: check --repository",
		},
		{"a digest as tag", Request{Stack: "dev", Tag: digest}, "already a digest"},
		{"no such stack", Request{Stack: "prod", Tag: "v1"}, "pulumi stack init prod"},
		{"refused", Request{Stack: "dev", Repository: strings.TrimPrefix(denied.URL, "http://") + "/ray", Tag: "v1"}, "docker login"},
		{"unreachable", Request{Stack: "dev", Repository: "127.0.0.1:1/ray", Tag: "v1"}, "connection refused"},
		{
			"unreachable, with what to do", Request{Stack: "dev", Repository: "127.0.0.1:1/ray", Tag: "v1"},
			"the registry 127.0.0.1:1 cannot be reached; next: check --repository and the network, or set the digest directly: " +
				"pulumi config set imageDigest sha256:... --stack dev: ",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const stack = "config:\n  a: b\n"
			dir := writeProject(t, repository, stack)
			test.in.Project = dir
			_, err := Pin(context.Background(), test.in)
			require.ErrorContains(t, err, test.want)
			written, err := os.ReadFile(filepath.Join(dir, "Pulumi.dev.yaml"))
			require.NoError(t, err)
			assert.Equal(t, stack, string(written))
		})
	}
}

func TestPinNeedsARepository(t *testing.T) {
	t.Parallel()
	dir := writeProject(t, `""`, "config: {}\n")
	_, err := Pin(context.Background(), Request{Project: dir, Stack: "dev", Tag: "v1"})
	require.ErrorContains(t, err, "use --repository")
	require.NoError(t, os.Remove(filepath.Join(dir, "Pulumi.yaml")))
	_, err = Pin(context.Background(), Request{Project: dir, Stack: "dev", Tag: "v1"})
	require.ErrorContains(t, err, "run in the folder with Pulumi.yaml")
}

func TestExists(t *testing.T) {
	t.Parallel()
	repository, digest := serveImage(t)
	website := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(website.Close)
	other := "sha256:" + strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		repository, digest string
		exists, unknown    bool
	}{
		"it does":              {repository, digest, true, false},
		"another digest":       {repository, other, false, false},
		"another repository":   {repository + "s", digest, false, false},
		"no registry":          {strings.TrimPrefix(website.URL, "http://") + "/ray", digest, false, true},
		"it cannot be reached": {"127.0.0.1:1/ray", digest, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exists, err := Exists(t.Context(), image.Reference{Repository: test.repository, Digest: image.Digest(test.digest)})
			assert.Equal(t, test.exists, exists)
			assert.Equal(t, test.unknown, err != nil, err)
		})
	}
}
