package ec2

import (
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

type partitionResult struct {
	DNSSuffix        string `json:"dnsSuffix"`
	ID               string `json:"id"`
	Partition        string `json:"partition"`
	ReverseDNSPrefix string `json:"reverseDnsPrefix"`
}

func getPartition(*store.Op, struct {
	ID string `json:"id"`
}) (any, error) {
	return partitionResult{
		DNSSuffix:        "amazonaws.com",
		ID:               "aws",
		Partition:        "aws",
		ReverseDNSPrefix: "com.amazonaws",
	}, nil
}

type identityResult struct {
	AccountID string `json:"accountId"`
	ARN       string `json:"arn"`
	ID        string `json:"id"`
	UserID    string `json:"userId"`
}

func getCallerIdentity(o *store.Op, _ struct {
	ID string `json:"id"`
}) (any, error) {
	return identityResult{
		AccountID: o.AccountID,
		ARN:       o.CallerARN(),
		ID:        o.AccountID,
		UserID:    "AIDAREHEARSAL00000000",
	}, nil
}

type regionResult struct {
	Description string `json:"description"`
	Endpoint    string `json:"endpoint"`
	ID          string `json:"id"`
	Name        string `json:"name"`
}

func getRegion(o *store.Op, args struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
}) (any, error) {
	if args.Name != "" && args.Name != o.Region {
		return nil, api.Errorf("ValidationError", "region %q is not the rehearsed region %q",
			args.Name, o.Region)
	}
	return regionResult{
		Description: "rehearsed " + o.Region,
		Endpoint:    "ec2." + o.Region + ".amazonaws.com",
		ID:          o.Region,
		Name:        o.Region,
	}, nil
}
