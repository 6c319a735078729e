// Package deps pins modules while the packages that import them are being written.
package deps

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/go-containerregistry/pkg/registry"
	_ "github.com/google/go-containerregistry/pkg/v1/remote"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	_ "github.com/pulumi/pulumi-eks/sdk/v2/go/eks"
	_ "github.com/pulumi/pulumi-go-provider/infer"
	_ "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	_ "github.com/pulumi/pulumi/sdk/v3/go/auto"
	_ "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/require"
	_ "github.com/vishvananda/netlink"
	_ "github.com/vishvananda/netns"
	_ "golang.org/x/sys/unix"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/tools/portforward"
	_ "k8s.io/cri-streaming/pkg/streaming"
	_ "pgregory.net/rapid"
	_ "sigs.k8s.io/yaml"
)
