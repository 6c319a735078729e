// Package standin locates the stand-in for NCCL, Python code that a rehearsed
// image loads on machines without GPUs.
package standin

import "path/filepath"

// Folder is the folder of the checkout at root that an image's PYTHONPATH names.
func Folder(root string) string {
	return filepath.Join(root, "internal", "rehearsal", "standin", "python")
}

// Programs is the folder, beside that of the Python code, of the programs that a
// rehearsed image finds on its PATH: fi_info and nvidia-smi.
func Programs(folder string) string { return filepath.Join(filepath.Dir(folder), "bin") }
