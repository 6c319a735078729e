package awsprovider_test

import (
	"reflect"
	"testing"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	awseks "github.com/pulumi/pulumi-aws/sdk/v6/go/aws/eks"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/s3"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/vpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// typed is a resource type as pulumi-aws's own SDK has it.
type typed struct{ args, outputs reflect.Type }

// elementer is what the SDK's argument types implement: the type with the real names.
type elementer interface{ ElementType() reflect.Type }

func sdk(args elementer, outputs any) typed {
	return typed{args.ElementType(), reflect.TypeOf(outputs)}
}

func sdkTypes() map[string]typed {
	return map[string]typed{
		resource.TokenVpc:                     sdk(ec2.VpcArgs{}, ec2.Vpc{}),
		resource.TokenSubnet:                  sdk(ec2.SubnetArgs{}, ec2.Subnet{}),
		resource.TokenInternetGateway:         sdk(ec2.InternetGatewayArgs{}, ec2.InternetGateway{}),
		resource.TokenEip:                     sdk(ec2.EipArgs{}, ec2.Eip{}),
		resource.TokenNatGateway:              sdk(ec2.NatGatewayArgs{}, ec2.NatGateway{}),
		resource.TokenRouteTable:              sdk(ec2.RouteTableArgs{}, ec2.RouteTable{}),
		resource.TokenRoute:                   sdk(ec2.RouteArgs{}, ec2.Route{}),
		resource.TokenRouteTableAssociation:   sdk(ec2.RouteTableAssociationArgs{}, ec2.RouteTableAssociation{}),
		resource.TokenVpcEndpoint:             sdk(ec2.VpcEndpointArgs{}, ec2.VpcEndpoint{}),
		resource.TokenSecurityGroup:           sdk(ec2.SecurityGroupArgs{}, ec2.SecurityGroup{}),
		resource.TokenSecurityGroupRule:       sdk(ec2.SecurityGroupRuleArgs{}, ec2.SecurityGroupRule{}),
		resource.TokenIngressRule:             sdk(vpc.SecurityGroupIngressRuleArgs{}, vpc.SecurityGroupIngressRule{}),
		resource.TokenEgressRule:              sdk(vpc.SecurityGroupEgressRuleArgs{}, vpc.SecurityGroupEgressRule{}),
		resource.TokenLaunchTemplate:          sdk(ec2.LaunchTemplateArgs{}, ec2.LaunchTemplate{}),
		resource.TokenPlacementGroup:          sdk(ec2.PlacementGroupArgs{}, ec2.PlacementGroup{}),
		resource.TokenCapacityReservation:     sdk(ec2.CapacityReservationArgs{}, ec2.CapacityReservation{}),
		resource.TokenEc2Tag:                  sdk(ec2.TagArgs{}, ec2.Tag{}),
		resource.TokenRole:                    sdk(iam.RoleArgs{}, iam.Role{}),
		resource.TokenRolePolicy:              sdk(iam.RolePolicyArgs{}, iam.RolePolicy{}),
		resource.TokenRolePolicyAttachment:    sdk(iam.RolePolicyAttachmentArgs{}, iam.RolePolicyAttachment{}),
		resource.TokenIAMPolicy:               sdk(iam.PolicyArgs{}, iam.Policy{}),
		resource.TokenOpenIDConnectProvider:   sdk(iam.OpenIdConnectProviderArgs{}, iam.OpenIdConnectProvider{}),
		resource.TokenCluster:                 sdk(awseks.ClusterArgs{}, awseks.Cluster{}),
		resource.TokenNodeGroup:               sdk(awseks.NodeGroupArgs{}, awseks.NodeGroup{}),
		resource.TokenAddon:                   sdk(awseks.AddonArgs{}, awseks.Addon{}),
		resource.TokenAccessEntry:             sdk(awseks.AccessEntryArgs{}, awseks.AccessEntry{}),
		resource.TokenAccessPolicyAssociation: sdk(awseks.AccessPolicyAssociationArgs{}, awseks.AccessPolicyAssociation{}),
		resource.TokenPodIdentityAssociation:  sdk(awseks.PodIdentityAssociationArgs{}, awseks.PodIdentityAssociation{}),
		resource.TokenKey:                     sdk(kms.KeyArgs{}, kms.Key{}),
		resource.TokenAlias:                   sdk(kms.AliasArgs{}, kms.Alias{}),
		resource.TokenLogGroup:                sdk(cloudwatch.LogGroupArgs{}, cloudwatch.LogGroup{}),
		resource.TokenBucket:                  sdk(s3.BucketV2Args{}, s3.BucketV2{}),
		resource.TokenBucketPublicAccessBlock: sdk(s3.BucketPublicAccessBlockArgs{}, s3.BucketPublicAccessBlock{}),
		resource.TokenBucketVersioning:        sdk(s3.BucketVersioningV2Args{}, s3.BucketVersioningV2{}),
		resource.TokenBucketEncryption:        sdk(s3.BucketServerSideEncryptionConfigurationV2Args{}, s3.BucketServerSideEncryptionConfigurationV2{}),
		resource.TokenBucketLifecycle:         sdk(s3.BucketLifecycleConfigurationV2Args{}, s3.BucketLifecycleConfigurationV2{}),
		resource.TokenBucketPolicy:            sdk(s3.BucketPolicyArgs{}, s3.BucketPolicy{}),
		resource.TokenBucketOwnership:         sdk(s3.BucketOwnershipControlsArgs{}, s3.BucketOwnershipControls{}),
	}
}

// TestSchemaIsPulumiAWS compares every property that a rehearsal knows with pulumi-aws's
// SDK: its name, its shape, and whether a program must set it.
func TestSchemaIsPulumiAWS(t *testing.T) {
	kinds, err := resource.All()
	require.NoError(t, err)
	types := sdkTypes()
	require.Len(t, types, len(kinds), "each kind has its type of the SDK")
	for token, kind := range kinds {
		t.Run(token, func(t *testing.T) {
			compareFields(t, "", kind.Fields, types[token].args, types[token].outputs)
		})
	}
}

// compareFields checks inputs against the argument type and outputs against the resource.
func compareFields(t *testing.T, path string, fields []resource.Field, args, outputs reflect.Type) {
	t.Helper()
	inputs, results := tagged(args), tagged(outputs)
	for _, field := range fields {
		at := path + field.Name
		switch {
		case field.Hidden:
		case field.Computed, field.Name == "tagsAll":
			assert.Contains(t, results, field.Name, "%s is an output", at)
		default:
			found, ok := inputs[field.Name]
			if assert.True(t, ok, "%s is an input", at) {
				compareType(t, at, field, found)
			}
		}
	}
	for name, found := range inputs {
		if !isRequired(found) {
			continue
		}
		i := indexOf(fields, name)
		if assert.GreaterOrEqual(t, i, 0, "%s%s is required and must be known", path, name) {
			assert.True(t, fields[i].Required, "%s%s is required", path, name)
		}
	}
}

func compareType(t *testing.T, at string, field resource.Field, found reflect.Type) {
	t.Helper()
	if kind := found.Kind(); kind == reflect.Slice || kind == reflect.Map || kind == reflect.Interface {
		// The SDK does not say of these whether they are required.
	} else {
		assert.Equal(t, isRequired(found), field.Required, "%s is required", at)
	}
	compareShape(t, at, field.Type, found)
}

func compareShape(t *testing.T, at string, shape resource.Type, found reflect.Type) {
	t.Helper()
	if found.Kind() == reflect.Pointer {
		found = found.Elem()
	}
	want := map[reflect.Kind]resource.Shape{
		reflect.String: resource.String, reflect.Int: resource.Number, reflect.Float64: resource.Number, reflect.Bool: resource.Bool,
		reflect.Slice: resource.List, reflect.Map: resource.Map, reflect.Struct: resource.Object,
	}[found.Kind()]
	switch {
	case found.Kind() == reflect.Interface, shape.Shape == resource.Policy:
		// A policy document or a role: text or an object.
		return
	case !assert.Equal(t, want, shape.Shape, "%s has the SDK's shape", at):
	case shape.Shape == resource.List || shape.Shape == resource.Map:
		compareShape(t, at+"[]", *shape.Element, found.Elem())
	case shape.Shape == resource.Object:
		compareFields(t, at+".", shape.Fields, found, found)
	}
}

// tagged lists a struct's fields by the names that pulumi gives them.
func tagged(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("pulumi"); name != "" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

func isRequired(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return false
	default:
		return true
	}
}

func indexOf(fields []resource.Field, name string) int {
	for i, field := range fields {
		if field.Name == name {
			return i
		}
	}
	return -1
}
