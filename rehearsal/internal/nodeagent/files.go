package nodeagent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// file is one file of a volume that Kubernetes objects fill.
type file struct {
	data []byte
	mode fs.FileMode
}

// files maps paths relative to the volume to their content.
type files map[string]file

const defaultFileMode = 0o644

// add puts entries of an object into the volume: the chosen ones if items names
// any, else all.
func (f files) add(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool, what string) error {
	if len(items) == 0 {
		for name, content := range data {
			f[name] = file{content, modeOr(mode, nil)}
		}
		return nil
	}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok {
			if optional != nil && *optional {
				continue
			}
			return fmt.Errorf("%s references non-existent key: %s", what, item.Key)
		}
		path, err := insidePath(item.Path)
		if err != nil {
			return err
		}
		f[path] = file{content, modeOr(item.Mode, mode)}
	}
	return nil
}

// modeOr is the first mode that is set.
func modeOr(mode, fallback *int32) fs.FileMode {
	for _, m := range []*int32{mode, fallback} {
		if m != nil {
			return fs.FileMode(*m) & fs.ModePerm
		}
	}
	return defaultFileMode
}

// insidePath refuses paths that would leave the volume. The API server does
// too; a bug there must not write to this machine.
func insidePath(path string) (string, error) {
	if path == "" || filepath.IsAbs(path) || !filepath.IsLocal(path) {
		return "", fmt.Errorf("path %q: want a relative path without \"..\"", path)
	}
	return filepath.Clean(path), nil
}

// write brings a folder to hold exactly these files. Each is replaced by
// renaming, so a reader sees the old content or the new, and never half of it.
func (f files) write(folder string) error {
	for path, content := range f {
		name := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		temporary := filepath.Join(filepath.Dir(name), ".new-"+filepath.Base(name))
		if err := os.WriteFile(temporary, content.data, content.mode); err != nil {
			return err
		}
		// WriteFile's mode is subject to the umask.
		if err := errors.Join(os.Chmod(temporary, content.mode), os.Rename(temporary, name)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative := strings.TrimPrefix(path, folder+"/")
		if _, wanted := f[relative]; !wanted {
			return os.Remove(path)
		}
		return nil
	})
}

func configMapData(object *corev1.ConfigMap) map[string][]byte {
	data := map[string][]byte{}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	for key, value := range object.BinaryData {
		data[key] = value
	}
	return data
}
