// Package standin locates the stand-in for NCCL: Python code that a rehearsed image loads on
// machines without GPUs.
package standin

import "path/filepath"

// Folder returns the folder, in the checkout at root, that an image's PYTHONPATH names.
func Folder(root string) string {
	return filepath.Join(root, "rehearsal", "internal", "standin", "python")
}

// Programs returns the folder, next to that of the Python code, whose programs a rehearsed image
// has on its PATH: fi_info and nvidia-smi.
func Programs(folder string) string { return filepath.Join(filepath.Dir(folder), "bin") }
