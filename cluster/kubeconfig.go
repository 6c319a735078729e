package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/ray-train-efa/ray-train-efa/internal/region"
)

// Kubeconfig returns a kubeconfig in JSON that gets its tokens from the AWS CLI. A static token
// would expire after 15 minutes and be stored in the state. The region is set explicitly, because
// the kubeconfig of pulumi-eks 2.8.1 takes it from the environment
// (https://github.com/pulumi/pulumi-eks/issues/1038).
func Kubeconfig(endpoint, caData, name string, in region.Region) (string, error) {
	authority, err := base64.StdEncoding.DecodeString(caData)
	if err != nil {
		return "", fmt.Errorf("decoding the certificate authority of cluster %q: %w", name, err)
	}
	login := &clientcmd.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1beta1",
		Command:    "aws",
		Args: []string{
			"eks", "get-token", "--region", string(in), "--cluster-name", name, "--output", "json",
		},
		InteractiveMode: clientcmd.NeverExecInteractiveMode,
	}
	text, err := json.Marshal(clientcmd.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters: []clientcmd.NamedCluster{{
			Name: name, Cluster: clientcmd.Cluster{Server: endpoint, CertificateAuthorityData: authority},
		}},
		Contexts:  []clientcmd.NamedContext{{Name: name, Context: clientcmd.Context{Cluster: name, AuthInfo: name}}},
		AuthInfos: []clientcmd.NamedAuthInfo{{Name: name, AuthInfo: clientcmd.AuthInfo{Exec: login}}},
	})
	if err != nil {
		return "", fmt.Errorf("encoding the kubeconfig of cluster %q: %w", name, err)
	}
	return string(text), nil
}
