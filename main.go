// The ray-train-efa program stands up Ray Train on EKS and is green only when training traffic rode EFA.
package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/internal/stack"
)

func main() {
	pulumi.Run(stack.Run)
}
