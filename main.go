// Command ray-train-efa is a Pulumi program that runs Ray Train on EKS. An update succeeds only if
// the traffic between nodes used EFA.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/common/constant"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/imagepin"
	"github.com/ray-train-efa/ray-train-efa/internal/stack"
)

func main() {
	err := pulumi.RunErr(stack.Program(eventlog.FromEnvironment(), imagepin.Exists))
	switch {
	case err == nil:
	case errors.Is(err, stack.ErrReported):
		os.Exit(constant.ExitStatusLoggedError)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
