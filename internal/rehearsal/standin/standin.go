// Package standin locates the stand-in for NCCL, Python code that a rehearsed
// image loads on machines without GPUs.
package standin

import "path/filepath"

// Folder is the folder of the checkout at root that an image's PYTHONPATH names.
func Folder(root string) string {
	return filepath.Join(root, "internal", "rehearsal", "standin", "python")
}
