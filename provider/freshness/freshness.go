// Package freshness detects that the provider's binary is older than its sources. Pulumi uses a
// binary next to PulumiPlugin.yaml instead of the sources; an outdated one refuses to start.
package freshness

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrStale means that the sources changed after the binary was built.
var ErrStale = errors.New("this provider was built from other sources")

// CheckFlag makes the provider check itself and end, without serving.
const CheckFlag = "-check-freshness"

// marker is the file next to a binary that is in its source folder.
const marker = "PulumiPlugin.yaml"

// Folders returns, relative to the repository's root and in order, the folders whose files go into
// the binary: the provider's, those that it imports, directly or not, and the embedded training code.
func Folders(root string) ([]string, error) {
	folders := []string{"jobs/train/raytrain_job", "provider"}
	for i := 0; i < len(folders); i++ { // the list grows
		imported, err := imports(filepath.Join(root, folders[i]))
		if err != nil {
			return nil, fmt.Errorf("listing the provider's sources: %w", err)
		}
		for _, folder := range imported {
			if !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	slices.Sort(folders)
	return folders, nil
}

// imports returns the folders of this module that a folder's Go files import, tests aside.
func imports(folder string) ([]string, error) {
	files, err := sources(folder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, file := range files {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, file), nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range parsed.Imports {
			if path, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); ours {
				found = append(found, path)
			}
		}
	}
	return found, nil
}

// sources returns the names of a folder's files that can go into a binary, in order.
func sources(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() && !strings.HasSuffix(name, "_test.go") &&
			slices.Contains([]string{".go", ".s", ".py", ".json"}, filepath.Ext(name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Hash returns the SHA-256 of the sources below the repository's root.
func Hash(root string) (string, error) {
	folders, err := Folders(root)
	if err != nil {
		return "", err
	}
	files := []string{"go.mod", "go.sum"}
	for _, folder := range folders {
		names, err := sources(filepath.Join(root, folder))
		if err != nil {
			return "", fmt.Errorf("hashing the provider's sources: %w", err)
		}
		for _, name := range names {
			files = append(files, filepath.Join(folder, name))
		}
	}
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

// Check returns ErrStale when the binary at path is in its source folder and was built from other
// sources; builtFrom is the hash that it carries. A binary elsewhere is an installed release, and
// one without a hash was compiled just now by Pulumi's Go host.
func Check(path, builtFrom string) error {
	folder := filepath.Dir(path)
	if builtFrom == "" || !isFile(filepath.Join(folder, marker)) {
		return nil
	}
	root := filepath.Dir(folder)
	if !isRepository(root) {
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
const module = "github.com/ray-train-efa/ray-train-efa"

// isRepository reports whether root is this repository's.
func isRepository(root string) bool {
	file, err := os.Open(filepath.Join(root, "go.mod"))
	if err != nil {
		return false
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	return scanner.Scan() && strings.TrimSpace(scanner.Text()) == "module "+module
}
