package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// goodMachine has everything.
func goodMachine() machine {
	return machine{
		system: "linux",
		find:   func(program string) (string, error) { return "/bin/" + program, nil },
		output: func(argv ...string) (string, error) {
			switch {
			case argv[0] == "node":
				return "v20.1.0", nil
			case strings.Contains(argv[2], "version_info"):
				return "3 11", nil
			}
			return "", nil
		},
		isolate: func() error { return nil },
		space:   func() (uint64, error) { return wantedSpace, nil },
	}
}

// lacking returns a find that does not find some programs.
func lacking(names ...string) func(string) (string, error) {
	return func(program string) (string, error) {
		for _, name := range names {
			if program == name {
				return "", exec.ErrNotFound
			}
		}
		return "/bin/" + program, nil
	}
}

func TestEachMissingThingIsOneLine(t *testing.T) {
	for _, test := range []struct {
		name string
		in   func(*machine)
		want []string
	}{
		{"nothing", func(*machine) {}, nil},
		{"another system", func(m *machine) { m.system = "darwin" }, []string{"Linux"}},
		{"git and ip", func(m *machine) { m.find = lacking("git", "ip") }, []string{"git", "iproute2"}},
		{"one of three compilers", func(m *machine) { m.find = lacking("cc", "gcc") }, nil},
		{"no compiler", func(m *machine) { m.find = lacking("cc", "gcc", "clang") }, []string{"C compiler"}},
		{"old node and old python", func(m *machine) {
			m.output = func(argv ...string) (string, error) {
				if argv[0] == "node" {
					return "v18.2.0", nil
				}
				return "3 9", nil
			}
		}, []string{`node is "v18.2.0"`, `python3 is "3.9"`}},
		{"no venv", func(m *machine) {
			good := m.output
			m.output = func(argv ...string) (string, error) {
				if argv[0] == "python3" && strings.Contains(argv[2], "venv") {
					return "", errors.New("exit status 1")
				}
				return good(argv...)
			}
		}, []string{"python3-venv"}},
		{"no namespaces", func(m *machine) { m.isolate = func() error { return errors.New("operation not permitted") } },
			[]string{"operation not permitted"}},
		{"a full disk", func(m *machine) { m.space = func() (uint64, error) { return 3 << 30, nil } },
			[]string{"10 GiB of disk space for the cache (3 GiB are free"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := goodMachine()
			test.in(&m)
			lines := m.missing(true)
			if len(lines) != len(test.want) {
				t.Fatalf("got %q, want %d lines", lines, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(lines[i], want) || strings.Contains(lines[i], "\n") {
					t.Errorf("line %q, want one line with %q", lines[i], want)
				}
			}
		})
	}
}

func TestNothingIsBuiltWhereSomethingIsMissing(t *testing.T) {
	w := newWorkshop(t)
	w.machine.find = lacking("npm")
	err := w.run(t.Context(), []recipe{shell("part", "touch {out}/product")})
	if !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "missing: npm") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(w.out.String(), "started") {
		t.Errorf("something was made: %s", w.out)
	}
}
