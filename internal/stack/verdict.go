package stack

import (
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// failedUpdate takes the verdict of an earlier update off the stack's outputs when this one fails.
//
// Pulumi keeps the outputs of the last green update when a later one fails, except those that the
// failed one registers. The SDK registers outputs once, when the program ends, and the engine accepts
// them until the failure reaches it. So the program waits for its resources before it ends, and an
// error hook holds the failure back until the program has registered that there is no verdict.
// Source: executeRegisterResourceOutputs in the engine's step_executor.go.
type failedUpdate struct {
	failed, sending chan struct{}
	fail, send      sync.Once
}

func newFailedUpdate() *failedUpdate {
	return &failedUpdate{failed: make(chan struct{}), sending: make(chan struct{})}
}

const (
	// sendingTimeout is how long a failure is held back at most. The program needs milliseconds.
	sendingTimeout = 5 * time.Second
	// sendingGrace is how long the outputs may take to the engine, on the same machine.
	sendingGrace = 250 * time.Millisecond
)

// hold runs in the error hook of a resource. It returns once the outputs are with the engine.
func (f *failedUpdate) hold() {
	f.fail.Do(func() { close(f.failed) })
	select {
	case <-f.sending:
		time.Sleep(sendingGrace)
	case <-time.After(sendingTimeout):
	}
}

// watch builds the stack, waits for its last resources and returns what was built. It returns
// ErrReported as soon as a resource fails: the SDK may then block in build.
func (f *failedUpdate) watch(ctx *pulumi.Context, build func() (*parts, error)) (*parts, error) {
	type result struct {
		made *parts
		err  error
	}
	finished := make(chan result, 1)
	go func() {
		made, err := build()
		if err == nil {
			for _, resource := range made.last {
				// Another error means that a resource was not created, which the engine and the hooks report.
				_, failed := internals.UnsafeAwaitOutput(ctx.Context(), resource.URN())
				if len(refusal.All(failed)) > 0 {
					err = failed
				}
			}
		}
		finished <- result{made, err}
	}()
	select {
	case <-f.failed:
		return nil, ErrReported
	case r := <-finished:
		return r.made, r.err
	}
}

// exportNoVerdict exports that this update has no verdict.
func (f *failedUpdate) exportNoVerdict(ctx *pulumi.Context) {
	ctx.Export("verdict", pulumi.String(jobs.VerdictNone).ToStringOutput().ApplyT(func(none string) string {
		f.send.Do(func() { close(f.sending) })
		return none
	}))
	ctx.Export("evidence", pulumi.String("none: the last update did not pass; its error says why"))
	for _, name := range []string{"stepsPerSecond", "submissionId", "reportPath", "reportPage"} {
		ctx.Export(name, pulumi.String(""))
	}
}
