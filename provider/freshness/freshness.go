// Package freshness keeps a built provider honest. A binary beside
// PulumiPlugin.yaml wins over the sources, so one that was built from other
// sources would judge by old rules; it refuses to serve instead.
package freshness

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrStale means that the sources changed after the binary was built.
var ErrStale = errors.New("this provider was built from other sources")

// CheckFlag makes the provider check itself and end, without serving.
const CheckFlag = "-check-freshness"

// marker lies beside a binary that lies in its sources.
const marker = "PulumiPlugin.yaml"

// folders lists, relative to the repository's root, the folders whose files go
// into the binary. A test compares it with what the compiler reads.
func folders() []string {
	return []string{
		"internal/screen", "jobs", "jobs/train", "jobs/train/raytrain_job",
		"provider", "provider/attempt", "provider/counters", "provider/evidence", "provider/freshness",
		"provider/gate", "provider/kube", "provider/preflight", "provider/probe", "provider/proof", "provider/refusal",
		"rayapi", "rayapi/forward",
		"transport",
	}
}

// Folders lists the folders that count, relative to the repository's root.
func Folders() []string { return folders() }

// Hash is the SHA-256 of the sources below the repository's root.
func Hash(root string) (string, error) {
	var files []string
	for _, folder := range folders() {
		entries, err := os.ReadDir(filepath.Join(root, folder))
		if err != nil {
			return "", fmt.Errorf("hashing the provider's sources: %w", err)
		}
		for _, entry := range entries {
			if counts(entry) {
				files = append(files, filepath.Join(folder, entry.Name()))
			}
		}
	}
	files = append(files, "go.mod", "go.sum")
	slices.Sort(files)
	sum := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", fmt.Errorf("hashing the provider's sources: %w", err)
		}
		fmt.Fprintf(sum, "%s\n%d\n", filepath.ToSlash(file), len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func counts(entry fs.DirEntry) bool {
	name := entry.Name()
	return !entry.IsDir() && !strings.HasSuffix(name, "_test.go") &&
		(strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".py"))
}

// Check fails with ErrStale when the binary at path lies in its sources and was
// built from others; builtFrom is the hash that it carries. A binary elsewhere
// is an installed release, and one without a hash was compiled just now by
// Pulumi's Go host.
func Check(path, builtFrom string) error {
	folder := filepath.Dir(path)
	if builtFrom == "" || !isFile(filepath.Join(folder, marker)) {
		return nil
	}
	root := filepath.Dir(folder)
	if !ours(root) {
		return nil
	}
	now, err := Hash(root)
	if err != nil {
		return err
	}
	if now != builtFrom {
		return fmt.Errorf("checking %q: %w; next: make build, or remove the file", path, ErrStale)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// module is this repository's.
const module = "module github.com/ray-train-efa/ray-train-efa"

// ours tells whether root is this repository's.
func ours(root string) bool {
	file, err := os.Open(filepath.Join(root, "go.mod"))
	if err != nil {
		return false
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	return scanner.Scan() && strings.TrimSpace(scanner.Text()) == module
}
