// Command print prints the hash of the provider's sources, for the linker:
//
//	go build -ldflags "-X main.builtFrom=$(go run ./provider/freshness/print)" -o provider/pulumi-resource-raytrain ./provider
package main

import (
	"fmt"
	"os"

	"github.com/ray-train-efa/ray-train-efa/provider/freshness"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	hash, err := freshness.Hash(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(hash)
}
