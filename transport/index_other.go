//go:build !amd64

package transport

import "bytes"

// indexToken returns where the next "NCCL " stands in b, or -1.
func indexToken(b []byte) int { return bytes.Index(b, []byte(token)) }
