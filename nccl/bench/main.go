// Command bench measures `raytrain verdict` against grep, and ripgrep where it is installed, on the
// same files in the same run, each as a process with its start: large logs of several shapes, and a
// folder with one file per rank.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pattern is what people search a log for by hand.
const pattern = "Selected provider is efa|Using network Socket"

func main() {
	size := flag.Int64("mib", 512, "size of each large log")
	ranks := flag.Int("ranks", 4096, "number of ranks, one file each, in the folder")
	rounds := flag.Int("rounds", 5, "rounds of each command; the best counts")
	flag.Parse()
	if err := run(*size<<20, *ranks, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(size int64, ranks, rounds int) (err error) {
	dir, err := os.MkdirTemp("", "bench-verdict-")
	if err != nil {
		return fmt.Errorf("making a folder for the logs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	raytrain := filepath.Join(dir, "raytrain")
	if out, err := exec.Command("go", "build", "-o", raytrain, "./cmd/raytrain").CombinedOutput(); err != nil {
		return fmt.Errorf("building raytrain (run this in the checkout's root): %w\n%s", err, out)
	}
	log := filepath.Join(dir, "job.log")
	for _, s := range shapes() {
		fmt.Printf("%s, %d MiB, %d cores\n", s.name, size>>20, runtime.GOMAXPROCS(0))
		if err := writeFile(log, size, s); err != nil {
			return err
		}
		for _, command := range searches(log, raytrain) {
			best, err := measure(rounds, command)
			if err != nil {
				return err
			}
			fmt.Printf("  %-8s %s\n", filepath.Base(command[0]), best.rate(size))
		}
	}
	folder := filepath.Join(dir, "ranks")
	if err := writeFolder(folder, ranks); err != nil {
		return err
	}
	best, err := measure(rounds, []string{raytrain, "verdict", folder})
	if err != nil {
		return err
	}
	fmt.Printf("%d ranks in as many files\n  raytrain %v\n", ranks, best)
	return nil
}

// searches lists the commands that are measured on one log.
func searches(log, raytrain string) [][]string {
	list := [][]string{{"grep", "-cE", pattern, log}}
	if _, err := exec.LookPath("rg"); err == nil {
		list = append(list, []string{"rg", "-c", pattern, log})
	}
	return append(list, []string{raytrain, "verdict", log})
}

func writeFile(path string, size int64, s shape) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("making the log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return s.writeLog(f, size)
}

// usage is what one run of a command took.
type usage struct {
	took, cpu time.Duration
	memory    int64 // bytes of anonymous memory, the largest sample of all runs
}

// String renders the time, the processor time and the peak of memory.
func (u usage) String() string {
	return fmt.Sprintf("%v (%v of CPU), %d MiB of anonymous memory",
		u.took.Round(time.Millisecond), u.cpu.Round(time.Millisecond), u.memory>>20)
}

// rate renders the usage with the speed on a log of size bytes.
func (u usage) rate(size int64) string {
	return fmt.Sprintf("%.2f GiB/s, %v", float64(size)/float64(1<<30)/u.took.Seconds(), u)
}

// measure runs a command several times and returns the fastest run.
func measure(rounds int, command []string) (usage, error) {
	best := usage{took: time.Hour}
	for range rounds {
		cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // the commands are those above
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		start := time.Now()
		if err := cmd.Start(); err != nil {
			return usage{}, fmt.Errorf("starting %s: %w", strings.Join(command, " "), err)
		}
		ended := make(chan struct{})
		var sampling sync.WaitGroup
		sampling.Go(func() { best.memory = max(best.memory, sampleMemory(cmd.Process.Pid, ended)) })
		err := cmd.Wait()
		took := time.Since(start)
		close(ended)
		sampling.Wait()
		if err != nil {
			return usage{}, fmt.Errorf("running %s: %w\n%.400s", strings.Join(command, " "), err, out.Bytes())
		}
		if n, err := strconv.Atoi(strings.TrimSpace(out.String())); err == nil && n == 0 {
			return usage{}, fmt.Errorf("running %s: it found nothing", strings.Join(command, " "))
		}
		if took < best.took {
			best.took, best.cpu = took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
		}
	}
	return best, nil
}

// sampleInterval is how often a process's memory is read. Reading takes about 20 µs.
const sampleInterval = 2 * time.Millisecond

// sampleMemory returns the largest anonymous memory of a process, in bytes, until it ended. Pages of
// files, which the kernel can drop, are no part of it (RssAnon, proc_pid_status(5)).
func sampleMemory(pid int, ended <-chan struct{}) int64 {
	largest := int64(0)
	tick := time.NewTicker(sampleInterval)
	defer tick.Stop()
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil {
			largest = max(largest, anonymous(string(status)))
		}
		select {
		case <-ended:
			return largest
		case <-tick.C:
		}
	}
}

// anonymous reads RssAnon, in bytes; 0 where it is missing, as in a process that is ending.
func anonymous(status string) int64 {
	_, rest, found := strings.Cut(status, "RssAnon:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
