// Package api is the language between the emulated AWS account and those who call it:
// requests and answers in JSON over HTTP, and AWS's errors.
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

// ResourceRequest asks for one operation on one resource.
type ResourceRequest struct {
	// Type is the Pulumi type token, such as aws:ec2/vpc:Vpc.
	Type string `json:"type"`
	// URN is Pulumi's name of the resource, for the log only.
	URN string `json:"urn,omitempty"`
	// ID is AWS's id of the resource; empty for a create.
	ID string `json:"id,omitempty"`
	// Inputs are the properties that are wanted; empty for read and delete.
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

// ResourceAnswer is a resource as it is after the operation.
type ResourceAnswer struct {
	// ID is empty when a read finds nothing.
	ID      string          `json:"id"`
	Outputs json.RawMessage `json:"outputs,omitempty"`
	// Failed is set when the resource exists and did not become what was asked, such
	// as a node group in CREATE_FAILED.
	Failed *Error `json:"failed,omitempty"`
}

// InvokeRequest asks for one of the provider's functions.
type InvokeRequest struct {
	// Token is the function's token, such as aws:index/getPartition:getPartition.
	Token string          `json:"token"`
	Args  json.RawMessage `json:"args,omitempty"`
}

// InvokeAnswer is a function's result.
type InvokeAnswer struct {
	Return json.RawMessage `json:"return"`
}

// TokenRequest asks for what `aws eks get-token` prints.
type TokenRequest struct {
	ClusterName string `json:"clusterName"`
	Region      string `json:"region,omitempty"`
	RoleARN     string `json:"roleArn,omitempty"`
}

// TokenAnswer is a bearer token for a cluster's API server.
type TokenAnswer struct {
	Token string `json:"token"`
	// Expiration is in RFC 3339, UTC.
	Expiration string `json:"expirationTimestamp"`
}
