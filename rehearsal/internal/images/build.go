package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// file is one file of an image's layer.
type file struct {
	name string
	data []byte
}

// readFiles reads the Python files below dir, which get the path prefix in the image. They run from
// dir; the copy makes the image's digest depend on their content.
func readFiles(dir, prefix string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".py") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		files = append(files, file{name: path.Join(prefix, filepath.ToSlash(relative)), data: data})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the stand-in's files in %q: %w", dir, err)
	}
	// Python loads only this file automatically. Without it the stand-in would not start.
	if !slices.ContainsFunc(files, func(f file) bool {
		return f.name == path.Join(prefix,
			"sitecustomize.py")
	}) {
		return nil, fmt.Errorf("reading the stand-in's files in %q: no sitecustomize.py there", dir)
	}
	return files, nil
}

// build returns an image whose digest depends only on its definition: the same programs give the
// same digest in every rehearsal.
func build(d definition) (v1.Image, error) {
	layer, err := layerOf(append([]file{{name: "etc/raytrain-rehearsal",
		data: []byte(string(d.program) + "\n")}}, d.files...))
	if err != nil {
		return nil, fmt.Errorf("building the layer of %q: %w", d.repository, err)
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer of %q: %w", d.repository, err)
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of %q: %w", d.repository, err)
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = "amd64", "linux"
	config.Config.Env = d.env
	config.Config.Entrypoint = d.entrypoint
	config.Config.WorkingDir = "/"
	config.Config.Labels = map[string]string{
		RehearsedLabel:                   "true",
		ProgramLabel:                     string(d.program),
		"org.opencontainers.image.title": string(d.program) + " (rehearsed)",
	}
	if d.devicePlugin != "" {
		config.Config.Labels[DevicePluginLabel] = d.devicePlugin
	}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, fmt.Errorf("setting the configuration of %q: %w", d.repository, err)
	}
	return image, nil
}

func layerOf(files []file) (v1.Layer, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data)),
			ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}
