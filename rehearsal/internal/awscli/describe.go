package awscli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// description is the part of DescribeCluster's response that identifies a cluster and its endpoint.
// Source: EKS API reference, DescribeCluster.
type description struct {
	Name                 string               `json:"name"`
	ARN                  string               `json:"arn"`
	Endpoint             string               `json:"endpoint"`
	CertificateAuthority certificateAuthority `json:"certificateAuthority"`
	Status               string               `json:"status"`
	Version              string               `json:"version"`
}

type certificateAuthority struct {
	// Data is the PEM text in base64.
	Data string `json:"data"`
}

// describeCluster returns the cluster, or ResourceNotFoundException.
func (c Command) describeCluster(ctx context.Context, options map[string]string) error {
	account, err := c.Connect()
	if err != nil {
		return err
	}
	found, err := describe(ctx, account, options["name"])
	if err != nil {
		return err
	}
	return json.NewEncoder(c.Stdout).Encode(map[string]description{"cluster": found})
}

func describe(ctx context.Context, account Account, name string) (description, error) {
	if name == "" {
		return description{}, fmt.Errorf("the following arguments are required: --name: %w",
			errUsage)
	}
	args, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return description{}, fmt.Errorf("encoding the cluster's name: %w", err)
	}
	answer, err := account.Invoke(ctx,
		api.InvokeRequest{Token: "aws:eks/getCluster:getCluster", Args: args})
	if err != nil {
		return description{}, err
	}
	// The provider's function returns a list, the API a single object.
	var found struct {
		description
		CertificateAuthorities []certificateAuthority `json:"certificateAuthorities"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return description{}, fmt.Errorf("decoding cluster %q: %w", name, err)
	}
	if len(found.CertificateAuthorities) > 0 {
		found.CertificateAuthority = found.CertificateAuthorities[0]
	}
	return found.description, nil
}
