// Command pulumi-resource-aws is the provider plugin `aws` of a rehearsal. It sends requests to the
// emulated AWS account that RAYTRAIN_REHEARSAL_DIR names, never to AWS.
package main

import (
	"context"
	"fmt"
	"os"

	p "github.com/pulumi/pulumi-go-provider"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/awsprovider"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-resource-aws:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cloud, err := client.FromEnvironment()
	if err != nil {
		return err
	}
	provider, err := awsprovider.New(cloud)
	if err != nil {
		return err
	}
	return p.RunProvider(ctx, "aws", awsprovider.Version, provider)
}
