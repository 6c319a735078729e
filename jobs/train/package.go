// Package train contains the training code for Ray as a zip, and its configuration.
package train

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"time"
)

// Entrypoint is the job's command; its working directory is the unpacked zip.
const Entrypoint = "python -m raytrain_job"

//go:embed raytrain_job/*.py raytrain_job/*.json
var code embed.FS

// zipEpoch is the oldest time that a zip can hold. Any fixed time will do: the
// zip is named by its content, so equal code must make equal bytes.
func zipEpoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// Zip packs the code; equal code makes equal bytes. Files are stored without
// compression, whose output may change with the Go release.
func Zip() ([]byte, error) {
	var buffer bytes.Buffer
	writer := zip.NewWriter(&buffer)
	// WalkDir goes in lexical order.
	err := fs.WalkDir(code, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := code.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading %q: %w", path, err)
		}
		header := &zip.FileHeader{Name: path, Method: zip.Store, Modified: zipEpoch()}
		header.SetMode(0o644)
		member, err := writer.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("adding %q: %w", path, err)
		}
		_, err = member.Write(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("packing the training code: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("packing the training code: %w", err)
	}
	return buffer.Bytes(), nil
}
