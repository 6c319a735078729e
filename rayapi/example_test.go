package rayapi_test

import (
	"context"
	"fmt"
	"os"
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

// A head in a Kubernetes cluster is reached with forward.Dialer, and one behind a Unix socket so:
func ExampleUnix() {
	client := rayapi.New(rayapi.Options{Dialer: rayapi.Unix{Path: "/run/ray.sock"}})
	_, err := client.Version(context.Background())
	fmt.Println(err != nil)
}
