package awscli

import (
	"context"
	"os"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
)

// Main is the whole program `aws`, for a binary that is called by that name: it finds the rehearsal
// from the environment and returns the exit status.
func Main(ctx context.Context, args []string) int {
	return Command{
		Args: args, Stdout: os.Stdout, Stderr: os.Stderr,
		Connect: func() (Account, error) { return client.FromEnvironment() },
	}.Run(ctx)
}
