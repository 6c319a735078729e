package cycle

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/provider/freshness"
)

// checkGate refuses a gate that is not there or was built from other sources: the
// engine would find out only when the cluster stands and the job's turn has come.
func checkGate(ctx context.Context, binary string) error {
	output, err := exec.CommandContext(ctx, binary, freshness.CheckFlag).CombinedOutput()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ended):
		return fmt.Errorf("checking the gate: %s", strings.TrimSpace(string(output)))
	default:
		return fmt.Errorf("checking the gate: %w: run `make build` in the checkout", err)
	}
}
