package resource

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Tokens of the resource types that a rehearsal knows.
const (
	TokenVpc                     = "aws:ec2/vpc:Vpc"
	TokenSubnet                  = "aws:ec2/subnet:Subnet"
	TokenInternetGateway         = "aws:ec2/internetGateway:InternetGateway"
	TokenEip                     = "aws:ec2/eip:Eip"
	TokenNatGateway              = "aws:ec2/natGateway:NatGateway"
	TokenRouteTable              = "aws:ec2/routeTable:RouteTable"
	TokenRoute                   = "aws:ec2/route:Route"
	TokenRouteTableAssociation   = "aws:ec2/routeTableAssociation:RouteTableAssociation"
	TokenVpcEndpoint             = "aws:ec2/vpcEndpoint:VpcEndpoint"
	TokenSecurityGroup           = "aws:ec2/securityGroup:SecurityGroup"
	TokenSecurityGroupRule       = "aws:ec2/securityGroupRule:SecurityGroupRule"
	TokenIngressRule             = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
	TokenEgressRule              = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
	TokenLaunchTemplate          = "aws:ec2/launchTemplate:LaunchTemplate"
	TokenPlacementGroup          = "aws:ec2/placementGroup:PlacementGroup"
	TokenCapacityReservation     = "aws:ec2/capacityReservation:CapacityReservation"
	TokenEc2Tag                  = "aws:ec2/tag:Tag"
	TokenRole                    = "aws:iam/role:Role"
	TokenRolePolicy              = "aws:iam/rolePolicy:RolePolicy"
	TokenRolePolicyAttachment    = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
	TokenIAMPolicy               = "aws:iam/policy:Policy"
	TokenOpenIDConnectProvider   = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
	TokenCluster                 = "aws:eks/cluster:Cluster"
	TokenNodeGroup               = "aws:eks/nodeGroup:NodeGroup"
	TokenAddon                   = "aws:eks/addon:Addon"
	TokenAccessEntry             = "aws:eks/accessEntry:AccessEntry"
	TokenAccessPolicyAssociation = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
	TokenPodIdentityAssociation  = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
	TokenKey                     = "aws:kms/key:Key"
	TokenAlias                   = "aws:kms/alias:Alias"
	TokenLogGroup                = "aws:cloudwatch/logGroup:LogGroup"
	TokenBucket                  = "aws:s3/bucketV2:BucketV2"
	TokenBucketPublicAccessBlock = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
	TokenBucketVersioning        = "aws:s3/bucketVersioningV2:BucketVersioningV2"
	TokenBucketEncryption        = "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2"
	TokenBucketLifecycle         = "aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2"
	TokenBucketPolicy            = "aws:s3/bucketPolicy:BucketPolicy"
	TokenBucketOwnership         = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"
)

// Kinds are resource types by token.
type Kinds map[string]Kind

// All describes every resource type that a rehearsal knows.
func All() (Kinds, error) {
	kinds := Kinds{}
	err := errors.Join(
		add[Vpc](kinds, TokenVpc),
		add[Subnet](kinds, TokenSubnet),
		add[InternetGateway](kinds, TokenInternetGateway),
		add[Eip](kinds, TokenEip),
		add[NatGateway](kinds, TokenNatGateway),
		add[RouteTable](kinds, TokenRouteTable),
		add[Route](kinds, TokenRoute),
		add[RouteTableAssociation](kinds, TokenRouteTableAssociation),
		add[VpcEndpoint](kinds, TokenVpcEndpoint),
		add[SecurityGroup](kinds, TokenSecurityGroup),
		add[SecurityGroupRule](kinds, TokenSecurityGroupRule),
		add[VpcSecurityGroupRule](kinds, TokenIngressRule),
		add[VpcSecurityGroupRule](kinds, TokenEgressRule),
		add[LaunchTemplate](kinds, TokenLaunchTemplate),
		add[PlacementGroup](kinds, TokenPlacementGroup),
		add[CapacityReservation](kinds, TokenCapacityReservation),
		add[Ec2Tag](kinds, TokenEc2Tag),
		add[Role](kinds, TokenRole),
		add[RolePolicy](kinds, TokenRolePolicy),
		add[RolePolicyAttachment](kinds, TokenRolePolicyAttachment),
		add[IAMPolicy](kinds, TokenIAMPolicy),
		add[OpenIDConnectProvider](kinds, TokenOpenIDConnectProvider),
		add[Cluster](kinds, TokenCluster),
		add[NodeGroup](kinds, TokenNodeGroup),
		add[Addon](kinds, TokenAddon),
		add[AccessEntry](kinds, TokenAccessEntry),
		add[AccessPolicyAssociation](kinds, TokenAccessPolicyAssociation),
		add[PodIdentityAssociation](kinds, TokenPodIdentityAssociation),
		add[Key](kinds, TokenKey),
		add[Alias](kinds, TokenAlias),
		add[LogGroup](kinds, TokenLogGroup),
		add[Bucket](kinds, TokenBucket),
		add[BucketPublicAccessBlock](kinds, TokenBucketPublicAccessBlock),
		add[BucketVersioning](kinds, TokenBucketVersioning),
		add[BucketEncryption](kinds, TokenBucketEncryption),
		add[BucketLifecycle](kinds, TokenBucketLifecycle),
		add[BucketPolicy](kinds, TokenBucketPolicy),
		add[BucketOwnership](kinds, TokenBucketOwnership),
	)
	return kinds, err
}

func add[T any](kinds Kinds, token string) error {
	kind, err := Describe[T](token)
	if err != nil {
		return err
	}
	kinds[token] = kind
	return nil
}

// Lookup returns the kind of a token, or an error that names those known to the service.
func (k Kinds) Lookup(token string) (Kind, error) {
	if kind, ok := k[token]; ok {
		return kind, nil
	}
	service, _, _ := strings.Cut(token, "/")
	var near []string
	for known := range k {
		if strings.HasPrefix(known, service+"/") {
			near = append(near, known)
		}
	}
	sort.Strings(near)
	if len(near) == 0 {
		return Kind{}, fmt.Errorf("resource type %q is not part of the rehearsed AWS account, nor is anything of %q", token, service)
	}
	return Kind{}, fmt.Errorf("resource type %q is not part of the rehearsed AWS account; of %q it knows: %s",
		token, service, strings.Join(near, ", "))
}
