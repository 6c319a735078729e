package rayapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

// A job is submitted at most once, followed until it ends, and deleted.
func Example() {
	head := raytest.New() // in a program: a Ray head
	defer head.Close()
	head.OnSubmit = func(job *rayapi.Job, _ rayapi.Submission) {
		head.AddFile(job.DriverNodeID, "job-driver-"+job.SubmissionID+".log", []byte("step 1\nstep 2\n"))
		job.Status = rayapi.Succeeded
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	client := rayapi.New(rayapi.Options{BaseURL: head.URL()})
	job, err := client.Submit(ctx, rayapi.Submission{ID: "train-1", Entrypoint: "python train.py"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := client.TailDriverLog(ctx, job.SubmissionID, os.Stdout); err != nil {
		fmt.Println(err)
		return
	}
	job, err = client.Job(ctx, "train-1")
	fmt.Println(job.Status, err)
	fmt.Println(client.DeleteJob(ctx, "train-1"))
	// Output:
	// step 1
	// step 2
	// SUCCEEDED <nil>
	// <nil>
}

// The files that a job's processes wrote to Ray's log folder are read through the head, also those on
// other nodes. A file that was cut off is an error, never a part of it.
func ExampleClient_CopyLog() {
	head := raytest.New() // in a program: a Ray head
	defer head.Close()
	head.Nodes = append(head.Nodes, rayapi.Node{ID: "node1", State: rayapi.Alive})
	head.AddFile("node1", "nccl/rank0.log", []byte("NCCL INFO Using network Libfabric\n"))
	ctx := context.Background()

	client := rayapi.New(rayapi.Options{BaseURL: head.URL()})
	nodes, err := client.Nodes(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range nodes {
		if node.State != rayapi.Alive {
			continue // its logs can no longer be read
		}
		names, err := client.ListLogs(ctx, node.ID, "nccl/*.log")
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, name := range names {
			var copied strings.Builder // in a program: a file
			err := client.CopyLog(ctx, node.ID, name, rayapi.MaxLogBytes, func() (io.Writer, error) {
				copied.Reset()
				return &copied, nil
			})
			fmt.Print(node.ID, " ", name, " ", err, ": ", copied.String())
		}
	}
	// Output: node1 nccl/rank0.log <nil>: NCCL INFO Using network Libfabric
}

// A job that this head does not know is an error that can be told apart.
func ExampleClient_Job() {
	head := raytest.New() // in a program: a Ray head
	defer head.Close()
	client := rayapi.New(rayapi.Options{BaseURL: head.URL()})
	_, err := client.Job(context.Background(), "train-1")
	fmt.Println(errors.Is(err, rayapi.ErrNotFound))
	// Output: true
}

// A head in a Kubernetes cluster is reached with forward.Dialer, and one behind a Unix socket with a function of your own.
func ExampleUnix() {
	client := rayapi.New(rayapi.Options{Dialer: rayapi.Unix{Path: "/run/ray.sock"}})
	_, err := client.Version(context.Background())
	fmt.Println(err != nil)
}
