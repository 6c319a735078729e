package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// cancelTimeout bounds the stop of a job after its update was canceled: a second Ctrl-C kills the
// update.
const cancelTimeout = 15 * time.Second

// stopOnCancel stops the job of a canceled update, if the inputs ask for that, and settles its
// record. It reports whether the job was stopped.
func (o operation) stopOnCancel(ctx context.Context, begun run) bool {
	if o.in.OnCancel != jobs.StopJob || begun.record.SubmissionID == "" {
		return false
	}
	ctx = context.WithoutCancel(ctx)
	err := error(nil)
	bounded(ctx, 2*cancelTimeout, func(ctx context.Context) {
		_, err = begun.head.StopAndWait(ctx, begun.record.SubmissionID, cancelTimeout)
	})
	if err == nil {
		err = o.settle(ctx, begun.record)
	}
	if err != nil {
		o.env.Warn(ctx, fmt.Sprintf("job %s was not stopped after the cancel: %v; next: pulumi up "+
			"(continues with it) or pulumi destroy (stops it)", begun.record.SubmissionID, err))
	}
	return err == nil
}
