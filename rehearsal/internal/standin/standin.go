// Package standin locates the stand-in for NCCL: Python code that a rehearsed image loads on
// machines without GPUs.
package standin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Folder returns the folder, in the checkout at root, that an image's PYTHONPATH names.
func Folder(root string) string {
	return filepath.Join(root, "rehearsal", "internal", "standin", "python")
}

// Programs returns the folder, next to that of the Python code, whose programs a rehearsed image
// has on its PATH: fi_info and nvidia-smi.
func Programs(folder string) string { return filepath.Join(filepath.Dir(folder), "bin") }

// Defect is a defect of a job or its evidence that the stand-in shows; defects.py describes each.
type Defect string

// The defects.
const (
	NoPlugin              Defect = "no-plugin"
	NoPluginOnOneRank     Defect = "no-plugin-on-one-rank"
	NoPluginOnOneNode     Defect = "no-plugin-on-one-node"
	ProviderTCP           Defect = "provider-tcp"
	WrongInterface        Defect = "wrong-interface"
	SocketChannel         Defect = "socket-channel"
	Crash                 Defect = "crash"
	RankKilled            Defect = "rank-killed"
	Hang                  Defect = "hang"
	Silent                Defect = "silent"
	NeverConnected        Defect = "never-connected"
	LogMissing            Defect = "log-missing"
	LogTruncated          Defect = "log-truncated"
	LogRotated            Defect = "log-rotated"
	LogOfEarlierRun       Defect = "log-of-earlier-run"
	LogHuge               Defect = "log-huge"
	LogNotUTF8            Defect = "log-not-utf8"
	ManifestOfEarlierRun  Defect = "manifest-of-earlier-run"
	ManifestOfOtherRank   Defect = "manifest-of-other-rank"
	ManifestNamesOtherLog Defect = "manifest-names-other-log"
	OldDriver             Defect = "old-driver"
	NoFabric              Defect = "no-fabric"
)

// defectFile is the file in a node's folder that holds the name of its defect.
const defectFile = "defect"

// WriteDefect gives the node with the folder dir a defect, or none for "".
func WriteDefect(dir string, defect Defect) error {
	path := filepath.Join(dir, defectFile)
	if defect == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the defect of a node: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(path+".new", []byte(defect), 0o644); err != nil {
		return fmt.Errorf("writing the defect of a node: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the defect of a node: %w", err)
	}
	return nil
}
