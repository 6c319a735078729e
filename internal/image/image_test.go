package image_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/image"
)

func TestReference(t *testing.T) {
	t.Parallel()
	digest, err := image.ParseDigest("sha256:" + strings.Repeat("0f", 32))
	require.NoError(t, err)
	repository, err := image.ParseRepository("127.0.0.1:5000/deep-learning-containers/ray")
	require.NoError(t, err)
	assert.Equal(t, repository+"@"+string(digest), image.Reference{Repository: repository, Digest: digest}.String())
}

func TestOtherForms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "v1.1", "sha256:abc", "sha256:" + strings.Repeat("0F", 32)} {
		_, err := image.ParseDigest(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{"", "ray", "public.ecr.aws/ray:v1", "public.ecr.aws/ray@sha256:0", "https://public.ecr.aws/ray"} {
		_, err := image.ParseRepository(text)
		require.Error(t, err, text)
	}
}
