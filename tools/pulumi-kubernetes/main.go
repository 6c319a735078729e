// Command pulumi-kubernetes is Pulumi's Kubernetes provider, built from its published module.
//
// The module's own main package embeds two files that its release process generates, so it doesn't build as a
// dependency. This one serves the same provider, and reads the two files from the folder that the binary lies in:
// set-up copies them there from the module.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	schema, mapping, err := readEmbedded()
	if err != nil {
		fmt.Fprintf(os.Stderr, "pulumi-resource-kubernetes: %v; run make setup\n", err)
		os.Exit(1)
	}
	provider.Serve("kubernetes", version.Version, schema, mapping)
}

// readEmbedded returns the provider's schema and its mapping from Terraform's names.
func readEmbedded() (schema, mapping []byte, err error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("finding the provider's own folder: %w", err)
	}
	folder := filepath.Dir(executable)
	if schema, err = os.ReadFile(filepath.Join(folder, "schema.json")); err != nil {
		return nil, nil, fmt.Errorf("reading the provider's schema: %w", err)
	}
	if mapping, err = os.ReadFile(filepath.Join(folder, "terraform-mapping.json")); err != nil {
		return nil, nil, fmt.Errorf("reading the provider's mapping: %w", err)
	}
	return schema, mapping, nil
}
