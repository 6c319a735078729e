package cluster

import (
	"encoding/json"
	"fmt"
)

// kubeconfig is the part of a Kubernetes client configuration that EKS needs.
type kubeconfig struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	CurrentContext string         `json:"current-context"`
	Clusters       []namedCluster `json:"clusters"`
	Contexts       []namedContext `json:"contexts"`
	Users          []namedUser    `json:"users"`
}

type namedCluster struct {
	Name    string      `json:"name"`
	Cluster clusterPart `json:"cluster"`
}

type clusterPart struct {
	Server string `json:"server"`
	CAData string `json:"certificate-authority-data"`
}

type namedContext struct {
	Name    string      `json:"name"`
	Context contextPart `json:"context"`
}

type contextPart struct {
	Cluster string `json:"cluster"`
	User    string `json:"user"`
}

type namedUser struct {
	Name string   `json:"name"`
	User userPart `json:"user"`
}

type userPart struct {
	Exec execPart `json:"exec"`
}

type execPart struct {
	APIVersion      string   `json:"apiVersion"`
	Command         string   `json:"command"`
	Args            []string `json:"args"`
	InteractiveMode string   `json:"interactiveMode"`
}

// Kubeconfig is a client configuration, as JSON, that asks the AWS CLI for a fresh token at each use: a token written into
// it would be dead after a quarter of an hour and lie in the state. The region is named, because the one that pulumi-eks
// 2.8.1 makes leaves it to the environment, which may mean another region (https://github.com/pulumi/pulumi-eks/issues/1038).
func Kubeconfig(endpoint, caData, clusterName, region string) (string, error) {
	config := kubeconfig{
		APIVersion: "v1", Kind: "Config", CurrentContext: clusterName,
		Clusters: []namedCluster{{clusterName, clusterPart{Server: endpoint, CAData: caData}}},
		Contexts: []namedContext{{clusterName, contextPart{Cluster: clusterName, User: clusterName}}},
		Users: []namedUser{{clusterName, userPart{Exec: execPart{
			APIVersion:      "client.authentication.k8s.io/v1beta1",
			Command:         "aws",
			Args:            []string{"eks", "get-token", "--region", region, "--cluster-name", clusterName, "--output", "json"},
			InteractiveMode: "Never",
		}}}},
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("writing the kubeconfig of cluster %q: %w", clusterName, err)
	}
	return string(text), nil
}
