// Package api defines the HTTP API of the emulated AWS account: requests and responses in JSON, and
// AWS's errors.
package api

import "encoding/json"

// Paths of the account's HTTP interface.
const (
	PathCreate      = "/aws/create"
	PathRead        = "/aws/read"
	PathUpdate      = "/aws/update"
	PathDelete      = "/aws/delete"
	PathInvoke      = "/aws/invoke"
	PathToken       = "/token"
	PathTokenReview = "/tokenreview/"
	PathInventory   = "/inventory"
	PathFaults      = "/faults"
	PathLoseCluster = "/lose-cluster/"
)

// ResourceRequest is the request for one operation on one resource.
type ResourceRequest struct {
	// Type is the Pulumi type token, such as aws:ec2/vpc:Vpc.
	Type string `json:"type"`
	// URN is Pulumi's name of the resource, for the log only.
	URN string `json:"urn,omitempty"`
	// ID is AWS's id of the resource; empty for a create.
	ID string `json:"id,omitempty"`
	// Inputs are the requested properties; empty for read and delete.
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

// ResourceResponse is the resource after the operation.
type ResourceResponse struct {
	// ID is empty if a read finds nothing.
	ID      string          `json:"id"`
	Outputs json.RawMessage `json:"outputs,omitempty"`
	// Failed is set if the resource exists but the operation failed, such as a node group in
	// CREATE_FAILED.
	Failed *Error `json:"failed,omitempty"`
}

// InvokeRequest is the request for one of the provider's functions.
type InvokeRequest struct {
	// Token is the function's token, such as aws:index/getPartition:getPartition.
	Token string          `json:"token"`
	Args  json.RawMessage `json:"args,omitempty"`
}

// InvokeResponse is a function's result.
type InvokeResponse struct {
	Return json.RawMessage `json:"return"`
}

// TokenRequest is the request for the output of `aws eks get-token`.
type TokenRequest struct {
	ClusterName string `json:"clusterName"`
	Region      string `json:"region,omitempty"`
	RoleARN     string `json:"roleArn,omitempty"`
}

// TokenResponse is a bearer token for a cluster's API server.
type TokenResponse struct {
	Token string `json:"token"`
	// Expiration is in RFC 3339, UTC.
	Expiration string `json:"expirationTimestamp"`
}
