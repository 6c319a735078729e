package resource

// Vpc is aws:ec2/vpc:Vpc.
type Vpc struct {
	CidrBlock                        string `json:"cidrBlock,omitempty" aws:"default,replace"`
	EnableDNSHostnames               bool   `json:"enableDnsHostnames" aws:"default"`
	EnableDNSSupport                 *bool  `json:"enableDnsSupport,omitempty" aws:"default"`
	EnableNetworkAddressUsageMetrics bool   `json:"enableNetworkAddressUsageMetrics,omitempty"`
	InstanceTenancy                  string `json:"instanceTenancy,omitempty" aws:"default"`
	Tagged

	ARN                    string `json:"arn,omitempty" aws:"computed"`
	DefaultNetworkACLID    string `json:"defaultNetworkAclId,omitempty" aws:"computed"`
	DefaultRouteTableID    string `json:"defaultRouteTableId,omitempty" aws:"computed"`
	DefaultSecurityGroupID string `json:"defaultSecurityGroupId,omitempty" aws:"computed"`
	DHCPOptionsID          string `json:"dhcpOptionsId,omitempty" aws:"computed"`
	MainRouteTableID       string `json:"mainRouteTableId,omitempty" aws:"computed"`
	OwnerID                string `json:"ownerId,omitempty" aws:"computed"`
}

// Subnet is aws:ec2/subnet:Subnet.
type Subnet struct {
	VpcID                               string `json:"vpcId" aws:"required,replace"`
	CidrBlock                           string `json:"cidrBlock,omitempty" aws:"replace"`
	AvailabilityZone                    string `json:"availabilityZone,omitempty" aws:"default,replace"`
	AvailabilityZoneID                  string `json:"availabilityZoneId,omitempty" aws:"default,replace"`
	MapPublicIPOnLaunch                 bool   `json:"mapPublicIpOnLaunch"`
	PrivateDNSHostnameTypeOnLaunch      string `json:"privateDnsHostnameTypeOnLaunch,omitempty" aws:"default"`
	EnableResourceNameDNSARecordOnStart bool   `json:"enableResourceNameDnsARecordOnLaunch,omitempty"`
	Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
	// NextHost is the host part of the next address that EC2 hands out.
	NextHost int `json:"_nextHost,omitempty" aws:"hidden"`
}

// InternetGateway is aws:ec2/internetGateway:InternetGateway.
type InternetGateway struct {
	VpcID string `json:"vpcId,omitempty" aws:"default"`
	Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
}

// Eip is aws:ec2/eip:Eip.
type Eip struct {
	Domain string `json:"domain,omitempty" aws:"default,replace"`
	// Vpc is the older way to say Domain.
	Vpc bool `json:"vpc,omitempty" aws:"replace"`
	Tagged

	AllocationID  string `json:"allocationId,omitempty" aws:"computed"`
	ARN           string `json:"arn,omitempty" aws:"computed"`
	AssociationID string `json:"associationId,omitempty" aws:"computed"`
	PublicIP      string `json:"publicIp,omitempty" aws:"computed"`
	PublicDNS     string `json:"publicDns,omitempty" aws:"computed"`
}

// NatGateway is aws:ec2/natGateway:NatGateway.
type NatGateway struct {
	AllocationID     string `json:"allocationId,omitempty" aws:"replace"`
	ConnectivityType string `json:"connectivityType,omitempty" aws:"replace,initial=public"`
	PrivateIP        string `json:"privateIp,omitempty" aws:"default,replace"`
	SubnetID         string `json:"subnetId" aws:"required,replace"`
	Tagged

	AssociationID      string `json:"associationId,omitempty" aws:"computed"`
	NetworkInterfaceID string `json:"networkInterfaceId,omitempty" aws:"computed"`
	PublicIP           string `json:"publicIp,omitempty" aws:"computed"`
}

// RouteTable is aws:ec2/routeTable:RouteTable.
type RouteTable struct {
	VpcID  string            `json:"vpcId" aws:"required,replace"`
	Routes []RouteTableRoute `json:"routes,omitempty" aws:"default"`
	Tagged

	ARN     string `json:"arn,omitempty" aws:"computed"`
	OwnerID string `json:"ownerId,omitempty" aws:"computed"`
	// Main is true for the table that AWS makes with the VPC.
	Main bool `json:"_main,omitempty" aws:"hidden"`
}

// RouteTableRoute is a route that is written inside its table.
type RouteTableRoute struct {
	CidrBlock    string `json:"cidrBlock,omitempty"`
	GatewayID    string `json:"gatewayId,omitempty"`
	NatGatewayID string `json:"natGatewayId,omitempty"`
}

// Route is aws:ec2/route:Route.
type Route struct {
	RouteTableID         string `json:"routeTableId" aws:"required,replace"`
	DestinationCidrBlock string `json:"destinationCidrBlock,omitempty" aws:"replace"`
	GatewayID            string `json:"gatewayId,omitempty"`
	NatGatewayID         string `json:"natGatewayId,omitempty"`

	Origin string `json:"origin,omitempty" aws:"computed"`
	State  string `json:"state,omitempty" aws:"computed"`
}

// RouteTableAssociation is aws:ec2/routeTableAssociation:RouteTableAssociation.
type RouteTableAssociation struct {
	RouteTableID string `json:"routeTableId" aws:"required"`
	SubnetID     string `json:"subnetId,omitempty" aws:"replace"`
}

// VpcEndpoint is aws:ec2/vpcEndpoint:VpcEndpoint.
type VpcEndpoint struct {
	VpcID             string   `json:"vpcId" aws:"required,replace"`
	ServiceName       string   `json:"serviceName,omitempty" aws:"replace"`
	VpcEndpointType   string   `json:"vpcEndpointType,omitempty" aws:"replace,initial=Gateway"`
	RouteTableIDs     []string `json:"routeTableIds,omitempty" aws:"default"`
	SubnetIDs         []string `json:"subnetIds,omitempty" aws:"default"`
	SecurityGroupIDs  []string `json:"securityGroupIds,omitempty" aws:"default"`
	PrivateDNSEnabled bool     `json:"privateDnsEnabled,omitempty" aws:"default"`
	Policy            Document `json:"policy,omitempty" aws:"default"`
	Tagged

	ARN                 string   `json:"arn,omitempty" aws:"computed"`
	CidrBlocks          []string `json:"cidrBlocks,omitempty" aws:"computed"`
	NetworkInterfaceIDs []string `json:"networkInterfaceIds,omitempty" aws:"computed"`
	OwnerID             string   `json:"ownerId,omitempty" aws:"computed"`
	PrefixListID        string   `json:"prefixListId,omitempty" aws:"computed"`
	State               string   `json:"state,omitempty" aws:"computed"`
}
