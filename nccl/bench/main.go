// Command bench measures `raytrain verdict` against GNU grep on the same files in
// the same run, each as a process with its start: one log of 512 MiB, and 4,096
// ranks in 4,096 files. Memory and profile are those of the judge in this process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/synth/benchgen"
)

// The yardstick: what people grep for by hand.
const pattern = "Selected provider is efa|Using network Socket"

func main() {
	size := flag.Int64("mib", 512, "size of the one large log")
	ranks := flag.Int("ranks", 4096, "number of ranks, one file each, in the folder")
	rounds := flag.Int("rounds", 5, "rounds of both; the best of each counts")
	profile := flag.String("profile", "", "write a CPU profile of the judge to this file")
	flag.Parse()
	if err := run(*size<<20, *ranks, *rounds, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(size int64, ranks, rounds int, profile string) (err error) {
	dir, err := os.MkdirTemp("", "bench-verdict-")
	if err != nil {
		return fmt.Errorf("making a folder for the logs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log, folder := filepath.Join(dir, "job.log"), filepath.Join(dir, "ranks")
	if err := writeInputs(log, folder, size, ranks); err != nil {
		return err
	}
	raytrain := filepath.Join(dir, "raytrain")
	if out, err := exec.Command("go", "build", "-o", raytrain, "./cmd/raytrain").CombinedOutput(); err != nil {
		return fmt.Errorf("building raytrain (run this in the checkout's root): %w\n%s", err, out)
	}
	grep, judge := time.Hour, time.Hour
	for range rounds {
		took, err := timeGrep(log)
		if err != nil {
			return err
		}
		grep = min(grep, took)
		if took, err = timeVerdict(raytrain, log); err != nil {
			return err
		}
		judge = min(judge, took)
	}
	fmt.Printf("one log of %d MiB, %d cores: grep %v, raytrain verdict %v, ratio %.2f\n",
		size>>20, runtime.GOMAXPROCS(0), grep, judge, judge.Seconds()/grep.Seconds())
	took, err := timeVerdict(raytrain, folder)
	if err != nil {
		return err
	}
	fmt.Printf("%d ranks in as many files: %v\n", ranks, took)
	return inProcess(log, rounds, profile)
}

// inProcess judges the log here, for the memory and the profile.
func inProcess(log string, rounds int, profile string) error {
	if profile != "" {
		stop, err := startProfile(profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	for range rounds {
		sources, err := nccl.Collect([]string{log}, nil)
		if err != nil {
			return err
		}
		if _, err := nccl.Judge(context.Background(), sources, nccl.Options{}); err != nil {
			return err
		}
	}
	fmt.Printf("memory without mapped pages: %s\n", anonymous())
	return nil
}

func writeInputs(log, folder string, size int64, ranks int) (err error) {
	f, err := os.Create(log)
	if err != nil {
		return fmt.Errorf("making the log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := benchgen.WriteLog(f, size, 1); err != nil {
		return err
	}
	if err := benchgen.WriteFolder(folder, ranks); err != nil {
		return err
	}
	runtime.GC()
	return nil
}

func startProfile(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("making the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the profile: %w", err), f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: closing the profile:", err)
		}
	}, nil
}

// timeGrep runs grep as its own process, its start included.
func timeGrep(log string) (time.Duration, error) {
	start := time.Now()
	out, err := exec.Command("grep", "-cE", pattern, log).Output()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("running grep: %w", err)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || n == 0 {
		return 0, fmt.Errorf("running grep: it found nothing in %q", log)
	}
	return took, nil
}

// timeVerdict runs `raytrain verdict`, whose verdict must be efa.
func timeVerdict(raytrain, path string) (time.Duration, error) {
	start := time.Now()
	out, err := exec.Command(raytrain, "verdict", path).CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("running raytrain verdict: %w\n%.400s", err, out)
	}
	return took, nil
}

// anonymous reads this process's peak of memory and what of it is not mapped
// files, as Linux tells it.
func anonymous() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			return strings.TrimSpace(v) + " (the generator's garbage included)"
		}
	}
	return "unknown"
}
