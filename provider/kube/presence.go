package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Presence is whether an EKS cluster exists.
type Presence string

// The results. Unknown comes with an error; it is never treated as Gone.
const (
	Present Presence = "present"
	Gone    Presence = "gone"
	Unknown Presence = "unknown"
)

// askTimeout bounds one call of the AWS CLI, including its own retries.
const askTimeout = 45 * time.Second

// resourceNotFound is EKS's error code for a cluster that does not exist, as the AWS CLI prints it.
const resourceNotFound = "ResourceNotFoundException"

// Presence asks EKS whether the kubeconfig's cluster exists, through the same `aws` program, profile
// and environment that the kubeconfig uses for its tokens. A cluster of the same name at another
// address is another cluster: the kubeconfig's is gone.
func (c *Cluster) Presence(ctx context.Context, name, region string) (Presence, error) {
	if c.user == nil || c.user.Exec == nil {
		return Unknown, errors.New("looking up the cluster in EKS: the kubeconfig has no aws command")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var reply struct {
		Cluster struct {
			Endpoint string `json:"endpoint"`
		} `json:"cluster"`
	}
	err := ask(awsCommand(ctx, c.user.Exec, "eks", "describe-cluster", "--name", name, "--region", region), &reply)
	switch {
	case err != nil && strings.Contains(err.Error(), resourceNotFound):
		return Gone, nil
	case err != nil:
		return Unknown, fmt.Errorf("looking up cluster %q in EKS: %w", name, err)
	}
	if reply.Cluster.Endpoint != "" && !sameServer(reply.Cluster.Endpoint, c.server) {
		return Gone, nil
	}
	return Present, nil
}

// awsCommand returns a call of the AWS CLI with the kubeconfig's profile and environment.
func awsCommand(ctx context.Context, config *clientcmdapi.ExecConfig, args ...string) *exec.Cmd {
	args = append(args, "--output", "json")
	if i := slices.Index(config.Args, "--profile"); i >= 0 && i+1 < len(config.Args) {
		args = append(args, "--profile", config.Args[i+1])
	}
	command := exec.CommandContext(ctx, config.Command, args...)
	command.Env = os.Environ()
	for _, variable := range config.Env {
		command.Env = append(command.Env, variable.Name+"="+variable.Value)
	}
	return command
}

// Account returns the AWS account of the credentials that the kubeconfig uses for its tokens.
func (c *Cluster) Account(ctx context.Context) (string, error) {
	if c.user == nil || c.user.Exec == nil {
		return "", errors.New("reading the AWS account: the kubeconfig has no aws command")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var reply struct {
		Account string `json:"Account"`
	}
	if err := ask(awsCommand(ctx, c.user.Exec, "sts", "get-caller-identity"), &reply); err != nil {
		return "", fmt.Errorf("reading the AWS account: %w", err)
	}
	return reply.Account, nil
}

// ask runs a command of the AWS CLI and decodes its reply.
func ask(command *exec.Cmd, reply any) error {
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), reply); err != nil {
		return fmt.Errorf("decoding its reply: %w", err)
	}
	return nil
}

func sameServer(a, b string) bool {
	clean := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, "/")) }
	return clean(a) == clean(b)
}
