// Command bench measures the collection and the verdict of a large job: a process of its own serves,
// as a Ray head does, the logs of thousands of ranks. It prints the time, and the peak of this
// process's memory after each step.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func main() {
	nodes := flag.Int("nodes", 512, "number of nodes, with 8 ranks each")
	kib := flag.Int("kib", 1024, "size of each rank's log")
	dir := flag.String("dir", "", "folder for the copies; empty for a temporary one")
	serve := flag.Bool("serve", false, "only serve the files, until the standard input ends")
	flag.Parse()
	do := run
	if *serve {
		do = serveHead
	}
	if err := do(*nodes, *kib, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serveHead prints the URL of a head and serves it.
func serveHead(nodes, kib int, _ string) error {
	h, err := newHead(nodes, kib<<10)
	if err != nil {
		return err
	}
	defer h.close()
	fmt.Println(h.server.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func run(nodes, kib int, dir string) (err error) {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	command := exec.Command(own, "-serve", fmt.Sprint("-nodes=", nodes), fmt.Sprint("-kib=", kib)) //nolint:gosec // itself
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("starting the head: %w", err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the head: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the head: %w", err)
	}
	defer func() { err = errors.Join(err, input.Close(), command.Wait()) }()
	url, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return fmt.Errorf("waiting for the head: %w", err)
	}
	temporary, err := os.MkdirTemp(dir, "bench-collect-")
	if err != nil {
		return fmt.Errorf("making a folder for the copies: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	fmt.Printf("%d nodes, %d ranks, logs of %d KiB, %d cores\n", nodes, nodes*gpus, kib, runtime.GOMAXPROCS(0))
	ray := rayapi.New(rayapi.Options{BaseURL: strings.TrimSpace(url)})
	_, err = collect(context.Background(), ray, nodes, temporary, func(step, detail string, took time.Duration) {
		fmt.Printf("  %-34s %7.1f s, peak of %4d MiB of memory  %s\n", step, took.Seconds(), peak()>>20, detail)
	})
	return err
}

// collect collects and judges the files of the job, and shows each step.
func collect(
	ctx context.Context, ray *rayapi.Client, nodes int, dir string,
	show func(step, detail string, took time.Duration),
) (judged evidence.Judgement, err error) {
	collector := evidence.NewCollector(ray, evidence.Copies{SubmissionID: jobID, Dir: dir, Token: "s3cret"})
	defer func() { err = errors.Join(err, collector.Close()) }()
	run := evidence.Run{
		Expected: evidence.Expected{SubmissionID: jobID, Nonce: nonce, WorldSize: nodes * gpus, Nodes: nodes},
		Provider: "efa", Status: rayapi.Succeeded, Again: "again", CountersAbsent: true,
	}
	began := time.Now()
	run.Gaps = collector.Finish(ctx, evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep})
	run.Files = collector.Files()
	var size int64
	for _, file := range run.Files {
		size += file.Size
	}
	show("collecting", fmt.Sprintf("%d files, %d MiB", len(run.Files), size>>20), time.Since(began))

	began = time.Now()
	if judged, err = evidence.Judge(ctx, run); err != nil {
		return judged, err
	}
	rows, err := json.Marshal(judged.Report)
	if err != nil {
		return judged, fmt.Errorf("encoding the report: %w", err)
	}
	show("judging", fmt.Sprintf("%s, %d KiB of report", judged.Report.Verdict, len(rows)>>10), time.Since(began))

	began = time.Now()
	seen := evidence.NewWatch(run).Look(run.Files)
	show("judging as a run that grows", string(seen.Verdict), time.Since(began))

	began = time.Now()
	_, err = evidence.Archive(dir, evidence.Bundle{SubmissionID: jobID, Manifests: judged.Manifests},
		judged.Report, run.Files, nil)
	show("archiving", "", time.Since(began))
	return judged, err
}

// peak returns the largest resident memory of this process so far, in bytes; 0 where /proc does not
// tell it.
func peak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib int64
	if _, after, found := bytes.Cut(text, []byte("VmHWM:")); found {
		if _, err := fmt.Sscan(string(after), &kib); err != nil {
			return 0
		}
	}
	return kib << 10
}
