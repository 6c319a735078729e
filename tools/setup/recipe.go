package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// recipe says how one part of the toolchain is built. It is plain data, whose hash identifies the
// cached part.
type recipe struct {
	// Name and Version are parts of the name of the cache folder, together with the hash.
	Name, Version string
	// Source is the folder, below the checkout, whose files the part is built from. All of them count
	// for the hash.
	Source string
	// Lane is the resource that the part mostly needs.
	Lane lane
	// Optional parts are built only when they are named.
	Optional bool
	Steps    []step
	// Links maps names in the checkout's bin folder to paths within the part's folder.
	Links map[string]string
	// Facts names what, in addition to the sources, decides whether a part of one machine or folder
	// works in another.
	Facts []fact
	// Prefetch is the Go package whose modules can be downloaded ahead, while other parts compile.
	Prefetch string
}

// lane decides which parts are built at the same time: one of each lane.
type lane string

const (
	// compiling parts take all cores: two at a time would only take more memory.
	compiling lane = "compile"
	// downloading parts wait for the network and leave the cores to the others.
	downloading lane = "download"
)

// fact names a property of this machine that goes into the keys of the parts that depend on it.
type fact string

const (
	// platform is the operating system and processor.
	platform fact = "platform"
	// python is the interpreter that environments are created with: its version decides which packages
	// fit.
	python fact = "python"
	// cachePath is the folder of the cache: scripts in a Python environment hold their own path.
	cachePath fact = "cache"
)

// step is one action; exactly one of its fields is set. In every string {out} stands for the part's
// folder in the cache and {source} for the recipe's Source.
type step struct {
	// Run is a command line. It runs in {source}.
	Run []string `json:",omitempty"`
	// Copy copies from the source of a Go module that {source}/go.mod requires.
	Copy *moduleCopy `json:",omitempty"`
	// Write creates an executable text file.
	Write *textFile `json:",omitempty"`
}

// moduleCopy copies one file or folder out of a module.
type moduleCopy struct{ Module, Path, To string }

// textFile is a file and what it holds.
type textFile struct{ Path, Content string }

// key returns the name of the part's folder in the cache. Equal keys mean equal parts.
func (r recipe) key(root string, facts map[fact]string) (string, error) {
	hash := sha256.New()
	relevant := map[fact]string{}
	for _, name := range r.Facts {
		relevant[name] = facts[name]
	}
	if err := json.NewEncoder(hash).Encode(struct {
		Recipe recipe
		Facts  map[fact]string
	}{r, relevant}); err != nil {
		return "", fmt.Errorf("hashing the recipe of %s: %w", r.Name, err)
	}
	source := filepath.Join(root, r.Source)
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		// The length keeps one file's end and the next one's name apart.
		_, err = fmt.Fprintf(hash, "%s %d\n%s", filepath.ToSlash(name), len(content), content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hashing the sources of %s: %w", r.Name, err)
	}
	return fmt.Sprintf("%s-%s-%s", r.Name, r.Version, hex.EncodeToString(hash.Sum(nil))[:12]), nil
}

// perform does one step, with the output of commands going to the log of env.
func (s step) perform(env environment) error {
	switch {
	case s.Run != nil:
		argv := make([]string, len(s.Run))
		for i, word := range s.Run {
			argv[i] = env.expand(word)
		}
		return env.run(argv)
	case s.Copy != nil:
		folder, err := env.moduleFolder(s.Copy.Module)
		if err != nil {
			return err
		}
		return copyTree(filepath.Join(folder, filepath.FromSlash(s.Copy.Path)), env.expand(s.Copy.To))
	case s.Write != nil:
		path := env.expand(s.Write.Path)
		if err := os.WriteFile(path, []byte(s.Write.Content), 0o755); err != nil {
			return fmt.Errorf("writing %q: %w", path, err)
		}
		return nil
	default:
		return errors.New("performing a step: it has no action")
	}
}

// expand fills in the names that steps use.
func (e environment) expand(text string) string {
	return strings.NewReplacer("{out}", e.out, "{source}", e.source).Replace(text)
}

// copyTree copies a file or a folder. Modules are read-only in Go's cache; the copies can be
// written, and so deleted.
func copyTree(from, to string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
	if err != nil {
		return fmt.Errorf("copying %q: %w", from, err)
	}
	return nil
}
