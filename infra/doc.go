// Package infra creates what the cluster needs: the network, the security group and the placement
// group of EFA, and the key and the log group that outlive the control plane.
package infra

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// formerly keeps the resources of a stack whose component had another type and name: without the
// alias Pulumi would replace everything in it. The component's new name must not begin the name of
// a resource in it: Pulumi takes such a name for one that was made from the component's, and
// changes it too.
func formerly(typ, name string) pulumi.ResourceOption {
	return pulumi.Aliases([]pulumi.Alias{{Type: pulumi.String(typ), Name: pulumi.String(name)}})
}
