package awscli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ErrNotActive means that a cluster cannot be reached yet, or no longer.
var ErrNotActive = errors.New("the cluster is not active")

// UpdateKubeconfig adds a cluster to the kubeconfig at path, or where kubectl looks if path is "",
// and makes it the current one. It writes no credentials: kubectl runs `aws eks get-token`. It
// returns the context's name, the cluster's ARN.
// Source: AWS CLI command reference, eks update-kubeconfig.
func UpdateKubeconfig(ctx context.Context, account Account,
	name, region, path string) (string, error) {
	found, err := describe(ctx, account, name)
	if err != nil {
		return "", err
	}
	if found.Status != "ACTIVE" && found.Status != "UPDATING" {
		return "", fmt.Errorf("%w, its status is %s", ErrNotActive, found.Status)
	}
	authority, err := base64.StdEncoding.DecodeString(found.CertificateAuthority.Data)
	if err != nil {
		return "", fmt.Errorf("decoding the certificate authority of cluster %q: %w", name, err)
	}
	options := clientcmd.NewDefaultPathOptions()
	options.LoadingRules.ExplicitPath = path
	config, err := options.GetStartingConfig()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Clusters[found.ARN] = &api.Cluster{
		Server:                   found.Endpoint,
		CertificateAuthorityData: authority,
	}
	config.AuthInfos[found.ARN] = &api.AuthInfo{Exec: &api.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1beta1", Command: "aws",
		InteractiveMode: api.NeverExecInteractiveMode,
		Args: []string{
			"--region",
			region,
			"eks",
			"get-token",
			"--cluster-name",
			name,
			"--output",
			"json",
		},
	}}
	config.Contexts[found.ARN] = &api.Context{Cluster: found.ARN, AuthInfo: found.ARN}
	config.CurrentContext = found.ARN
	if err := clientcmd.ModifyConfig(options, *config, false); err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return found.ARN, nil
}

func (c Command) updateKubeconfig(ctx context.Context, options map[string]string) error {
	account, err := c.Connect()
	if err != nil {
		return err
	}
	added, err := UpdateKubeconfig(ctx, account, options["name"], region(options),
		options["kubeconfig"])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "Added new context %s\n", added)
	return err
}
