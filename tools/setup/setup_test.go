package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// workshop is a setup with invented parts in temporary folders.
type workshop struct {
	setup
	out *bytes.Buffer
}

func newWorkshop(t *testing.T) workshop {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "tools", "x", "source"), "1")
	out := new(bytes.Buffer)
	return workshop{out: out, setup: setup{
		root: root, cache: cache{t.TempDir()}, machine: goodMachine(), facts: map[fact]string{},
		screen: &screen{out: out, every: time.Hour},
	}}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// shell is a part that a shell script makes.
func shell(name, script string) recipe {
	return recipe{
		Name: name, Version: "v1", Source: "tools/x", Lane: compiling,
		Steps: []step{{Run: []string{"sh", "-ec", script}}}, Links: map[string]string{name: "product"},
	}
}

func TestAPartIsMadeOnceForEachRecipeAndSource(t *testing.T) {
	w := newWorkshop(t)
	count := filepath.Join(t.TempDir(), "count")
	part := shell("part", "echo made >> "+count+"; cat source > {out}/product")
	for range 2 {
		if err := w.run(t.Context(), []recipe{part}); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, count); got != "made\n" {
		t.Errorf("made as often as %q says, want once", got)
	}
	write(t, filepath.Join(w.root, "tools", "x", "source"), "2")
	if err := w.run(t.Context(), []recipe{part}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(w.root, "bin", "part")); got != "2" {
		t.Errorf("bin/part holds %q after its source changed, want %q", got, "2")
	}
	if got := w.out.String(); !strings.Contains(got, "all 1 parts are there") {
		t.Errorf("the second set-up said %q", got)
	}
}

func TestKeysChangeWithWhatThePartDependsOn(t *testing.T) {
	w := newWorkshop(t)
	base := shell("part", "true")
	base.Facts = []fact{python}
	key := func(r recipe, facts map[fact]string) string {
		got, err := r.key(w.root, facts)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := key(base, map[fact]string{python: "3.11", platform: "a"})
	other := base
	other.Steps = []step{{Run: []string{"false"}}}
	if key(base, map[fact]string{python: "3.12"}) == first {
		t.Error("another Python makes the same key")
	}
	if key(base, map[fact]string{python: "3.11", platform: "b"}) != first {
		t.Error("a fact that the part does not depend on makes another key")
	}
	if key(other, map[fact]string{python: "3.11"}) == first {
		t.Error("other steps make the same key")
	}
}

func TestAnInterruptedPartIsMadeAnew(t *testing.T) {
	w := newWorkshop(t)
	begun := filepath.Join(t.TempDir(), "begun")
	part := shell("part", "touch {out}/half; [ -e "+begun+" ] || { touch "+begun+"; sleep 60; }; [ ! -e {out}/other ]; echo whole > {out}/product")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	began := time.Now()
	if err := w.run(ctx, []recipe{part}); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted set-up returned %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
	key, err := part.key(w.root, w.facts)
	if err != nil {
		t.Fatal(err)
	}
	// What the interrupted attempt left must not be in the way of the next one.
	write(t, filepath.Join(w.cache.folder(key), "other"), "")
	if err := w.run(t.Context(), []recipe{part}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(w.root, "bin", "part")); got != "whole\n" {
		t.Errorf("bin/part holds %q", got)
	}
}

func TestAFailureShowsTheEndOfTheLogAndKeepsWhatIsMade(t *testing.T) {
	w := newWorkshop(t)
	count := filepath.Join(t.TempDir(), "count")
	good := shell("good", "echo made >> "+count+"; touch {out}/product")
	err := w.run(t.Context(), []recipe{good, shell("bad", "for i in $(seq 40); do echo line $i; done; exit 3")})
	if err == nil {
		t.Fatal("a part that cannot be made is no error")
	}
	for _, want := range []string{"building bad v1: running sh: exit status 3", "line 40", "run make setup to continue", w.cache.dir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "line 10\n") {
		t.Errorf("the error does not fit a screen:\n%v", err)
	}
	if err := w.run(t.Context(), []recipe{good}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, count); got != "made\n" {
		t.Errorf("the good part was made again: %q", got)
	}
}

func TestAFailureEndsTheOtherLane(t *testing.T) {
	w := newWorkshop(t)
	slow := shell("slow", "sleep 60; touch {out}/product")
	slow.Lane = downloading
	began := time.Now()
	err := w.run(t.Context(), []recipe{slow, shell("bad", "exit 1")})
	if err == nil || !strings.Contains(err.Error(), "building bad") {
		t.Errorf("the error is not the first failure's: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

func TestTwoSetupsTakeTurns(t *testing.T) {
	w := newWorkshop(t)
	release, err := w.cache.lock(func() { t.Error("an unused lock is taken") })
	if err != nil {
		t.Fatal(err)
	}
	waiting, done := make(chan struct{}), make(chan error, 1)
	go func() {
		second, err := w.cache.lock(func() { close(waiting) })
		if err == nil {
			err = second()
		}
		done <- err
	}()
	<-waiting
	select {
	case <-done:
		t.Error("two set-ups had the lock at once")
	case <-time.After(50 * time.Millisecond):
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestASetupWithNothingToMakeDoesNotWait(t *testing.T) {
	w := newWorkshop(t)
	part := shell("part", "touch {out}/product")
	if err := w.run(t.Context(), []recipe{part}); err != nil {
		t.Fatal(err)
	}
	release, err := w.cache.lock(func() {})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.run(t.Context(), []recipe{part}) }()
	select {
	case err = <-done:
	case <-time.After(10 * time.Second):
		err = errors.New("it waits for the lock")
	}
	if err = errors.Join(err, release()); err != nil {
		t.Error(err)
	}
}

func TestLinkReplacesLinksOnly(t *testing.T) {
	bin := t.TempDir()
	for _, target := range []string{"/a", "/b"} {
		if err := link(bin, "tool", target); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(filepath.Join(bin, "tool")); err != nil || got != target {
			t.Errorf("the link points at %q (%v), want %q", got, err, target)
		}
	}
	write(t, filepath.Join(bin, "own"), "precious")
	if err := link(bin, "own", "/a"); err == nil || !strings.Contains(err.Error(), "it is not a link") {
		t.Errorf("replacing a file: %v", err)
	}
}

func TestChoose(t *testing.T) {
	all := []recipe{{Name: "a"}, {Name: "b"}, {Name: "lint", Optional: true}}
	for _, test := range []struct {
		name       string
		with, only []string
		want       string
		wantErr    string
	}{
		{name: "all but the optional", want: "a b"},
		{name: "an optional one too", with: []string{"lint"}, want: "a b lint"},
		{name: "only one", only: []string{"lint"}, want: "lint"},
		{name: "none of that name", only: []string{"c"}, wantErr: `there is no part "c"; the parts are a, b, lint`},
	} {
		t.Run(test.name, func(t *testing.T) {
			chosen, err := choose(all, test.with, test.only)
			var names []string
			for _, r := range chosen {
				names = append(names, r.Name)
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("chose %q, want %q", got, test.want)
			}
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("error %v, want one with %q", err, test.wantErr)
			}
		})
	}
}

// The recipes name folders of this repository, and each says where its programs go.
func TestPartsAreWellFormed(t *testing.T) {
	root := filepath.Join("..", "..")
	links := map[string]string{}
	versions, err := readVersions(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range parts(versions) {
		if _, err := r.key(root, nil); err != nil {
			t.Error(err)
		}
		if len(r.Links) == 0 || len(r.Steps) == 0 {
			t.Errorf("%s makes nothing", r.Name)
		}
		for name := range r.Links {
			if other, ok := links[name]; ok {
				t.Errorf("both %s and %s link bin/%s", other, r.Name, name)
			}
			links[name] = r.Name
		}
	}
}

// The version that a recipe names is the one that its lock file pins.
func TestVersionsAgreeWithTheirLockFiles(t *testing.T) {
	for file, want := range map[string]string{
		"eks/package.json":     `"@pulumi/eks": "` + eksVersion + `"`,
		"ray/requirements.txt": "ray==" + rayVersion + "\n",

		"cloud-judges/requirements.txt":  "cfn-lint==" + cfnLintVersion + "\n",
		"python-checks/requirements.txt": "ruff==" + ruffVersion + "\n",
		"checkov/requirements.txt":       "checkov==" + checkovVersion + "\n",
		"transformers/requirements.txt":  "transformers==" + transformersVersion + "\n",
	} {
		if got := read(t, filepath.Join("..", file)); !strings.Contains(got, want) {
			t.Errorf("tools/%s lacks %q", file, want)
		}
	}
	_, commit, _ := strings.Cut(kubernetesProviderVersion, "dev.")
	if got := read(t, filepath.Join("..", "pulumi-kubernetes", "go.mod")); commit == "" || !strings.Contains(got, commit) {
		t.Errorf("tools/pulumi-kubernetes/go.mod lacks commit %q", commit)
	}
}

func TestVersionsAreReadFromTheModules(t *testing.T) {
	root := t.TempDir()
	for source, text := range map[string]string{
		"kubernetes": "module x\n\nrequire k8s.io/kubernetes v1.99.1\n",
		"kuberay":    "require (\n\t" + moduleKubeRay + " v1.2.3\n)\n",
		"pulumi":     "require github.com/pulumi/pulumi/pkg/v3 v3.4.5 // indirect\n",
	} {
		folder := filepath.Join(root, "tools", source)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "go.mod"), text)
	}
	lint := filepath.Join(root, "tools", "golangci-lint")
	if _, err := readVersions(root); err == nil || !strings.Contains(err.Error(), lint) {
		t.Errorf("without a go.mod: %v", err)
	}
	if err := os.MkdirAll(lint, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(lint, "go.mod"), "module x\n")
	if _, err := readVersions(root); err == nil || !strings.Contains(err.Error(), "does not require it") {
		t.Errorf("without the module: %v", err)
	}
	write(t, filepath.Join(lint, "go.mod"), "require github.com/golangci/golangci-lint/v2 v2.0.0\n")
	versions, err := readVersions(root)
	if want := (goVersions{"v1.99.1", "v1.2.3", "v3.4.5", "v2.0.0"}); err != nil || versions != want {
		t.Errorf("read %v (%v), want %v", versions, err, want)
	}
}

func TestCommandsEndWithWhatTheyStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pidFile := filepath.Join(t.TempDir(), "pid")
	command := commandIn(ctx, ".", []string{"sh", "-c", "sleep 60 & echo $! > " + pidFile + "; wait"})
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var grandchild string
	eventually(t, "the command starts another", func() bool {
		content, err := os.ReadFile(pidFile)
		grandchild = strings.TrimSpace(string(content))
		return err == nil && grandchild != ""
	})
	cancel()
	if err := command.Wait(); err == nil {
		t.Error("it succeeded")
	}
	eventually(t, "what it started ends", func() bool {
		status, err := os.ReadFile("/proc/" + grandchild + "/status")
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
