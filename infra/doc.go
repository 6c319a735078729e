// Package infra creates the AWS resources that the cluster needs: the network, the EFA security
// group and placement group, and the KMS key and log group of the control plane.
package infra

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// formerly returns an alias for a component that had another type and name, so that Pulumi does not
// replace its resources. No child's name may start with the component's new name: Pulumi would
// derive an alias for the child as well.
func formerly(typ, name string) pulumi.ResourceOption {
	return pulumi.Aliases([]pulumi.Alias{{Type: pulumi.String(typ), Name: pulumi.String(name)}})
}
