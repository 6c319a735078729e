package train_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

func TestZipHoldsTheCodeAndIsRepeatable(t *testing.T) {
	t.Parallel()
	first, err := train.Zip()
	require.NoError(t, err)
	second, err := train.Zip()
	require.NoError(t, err)
	assert.Equal(t, first, second, "equal code must make equal bytes")

	reader, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	require.NoError(t, err)
	names := []string{}
	for _, file := range reader.File {
		names = append(names, file.Name)
	}
	want, err := filepath.Glob("raytrain_job/*.*")
	require.NoError(t, err)
	assert.Equal(t, want, names)
	assert.Contains(t, names, "raytrain_job/__main__.py")

	file, err := reader.Open("raytrain_job/__main__.py")
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	var text bytes.Buffer
	_, err = text.ReadFrom(file)
	require.NoError(t, err)
	source, err := os.ReadFile("raytrain_job/__main__.py")
	require.NoError(t, err)
	assert.Equal(t, string(source), text.String())
}

// Code that is no known revision makes every proven stack run its job again.
func TestCodeIsAKnownRevision(t *testing.T) {
	t.Parallel()
	code, err := train.Zip()
	require.NoError(t, err)
	sum := sha256.Sum256(code)
	assert.NotEqual(t, hex.EncodeToString(sum[:16]), train.Revision(code),
		"the training code changed: if it still computes the same, add %x to equivalent in config.go; "+
			"otherwise replace the list by it", sum[:16])
	assert.NotEqual(t, train.Revision(code), train.Revision([]byte("other")))
}
