package script

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// MaxBytes is the largest total size of the files of a working directory. Ray accepts packages of
// at most 100 MiB.
const MaxBytes = 100 << 20

const (
	plainMode      fs.FileMode = 0o644
	executableMode fs.FileMode = 0o755
)

// ErrWorkingDir is wrapped by the errors about a working directory that cannot be packed.
var ErrWorkingDir = errors.New("this working directory cannot be used")

// skipped returns the names of folders that are not packed, as Ray does not pack them either
// (RAY_RUNTIME_ENV_DEFAULT_EXCLUDES).
func skipped() []string { return []string{".git", ".venv", "venv", "__pycache__"} }

// Package is a packed working directory.
type Package struct {
	// Zip holds the files. Equal files give equal bytes with one release of Go.
	Zip []byte
	// Digest is the SHA-256, in hexadecimal, of the files' names, modes and contents.
	Digest string
}

// Pack packs the files of a folder and its subfolders, except .git, .venv, venv and __pycache__. A
// symbolic link to a file is packed as the file; a link to a folder is an error.
func Pack(folder string) (Package, error) {
	members, err := collect(folder)
	if err != nil {
		return Package{}, fmt.Errorf("packing %q: %w", folder, err)
	}
	packed, err := pack(members)
	if err != nil {
		return Package{}, fmt.Errorf("packing %q: %w", folder, err)
	}
	return Package{Zip: packed, Digest: digest(members)}, nil
}

// Digest returns the digest that Pack returns for the same folder.
func Digest(folder string) (string, error) {
	members, err := collect(folder)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", folder, err)
	}
	return digest(members), nil
}

// member is one file of a package.
type member struct {
	// name is relative to the folder, with slashes.
	name string
	mode fs.FileMode
	text []byte
}

// collect reads the files of a folder in lexical order.
func collect(folder string) ([]member, error) {
	var members []member
	var size int64
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != folder && slices.Contains(skipped(), entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		next, err := read(folder, path, MaxBytes-size)
		if err != nil {
			return err
		}
		size += int64(len(next.text))
		members = append(members, next)
		return nil
	})
	if err == nil && len(members) == 0 {
		err = fmt.Errorf("%w: it has no files", ErrWorkingDir)
	}
	return members, err
}

// read reads one file of at most limit bytes.
func read(folder, path string, limit int64) (member, error) {
	info, err := os.Stat(path) // of a link: its target
	if err != nil {
		return member{}, err
	}
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return member{}, err
	}
	switch {
	case info.IsDir():
		return member{}, fmt.Errorf("%w: %q is a link to a folder; next: replace it with a copy",
			ErrWorkingDir, name)
	case !info.Mode().IsRegular():
		return member{}, fmt.Errorf("%w: %q is not a file; next: move it elsewhere", ErrWorkingDir, name)
	case info.Size() > limit:
		return member{}, fmt.Errorf("%w: with %q (%d bytes) it has more than %d MiB, which Ray does "+
			"not accept; next: move data and checkpoints out of it", ErrWorkingDir, name, info.Size(), MaxBytes>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return member{}, err
	}
	mode := plainMode
	if info.Mode()&0o100 != 0 {
		mode = executableMode
	}
	return member{name: filepath.ToSlash(name), mode: mode, text: text}, nil
}

// digest hashes each member with its lengths, so that no two lists of members have one encoding.
func digest(members []member) string {
	sum := sha256.New()
	for _, m := range members {
		fmt.Fprintf(sum, "%d:%s %o %d:", len(m.name), m.name, m.mode, len(m.text))
		_, _ = sum.Write(m.text) //nolint:errcheck // a hash returns no error
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// pack makes a zip without the files' times.
func pack(members []member) ([]byte, error) {
	var buffer bytes.Buffer
	writer := zip.NewWriter(&buffer)
	for _, m := range members {
		header := &zip.FileHeader{
			Name: m.name, Method: zip.Deflate,
			// A zip holds no older time.
			Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC),
		}
		header.SetMode(m.mode)
		file, err := writer.CreateHeader(header)
		if err == nil {
			_, err = io.Copy(file, bytes.NewReader(m.text))
		}
		if err != nil {
			return nil, fmt.Errorf("adding %q: %w", m.name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("ending the zip: %w", err)
	}
	return buffer.Bytes(), nil
}
