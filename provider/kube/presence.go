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

// Presence says whether an EKS cluster exists.
type Presence string

// The answers. Unknown comes with an error; it is never treated as Gone.
const (
	Present Presence = "present"
	Gone    Presence = "gone"
	Unknown Presence = "unknown"
)

// askTimeout bounds one call of the AWS CLI, which retries by itself.
const askTimeout = 45 * time.Second

// resourceNotFound is EKS's error code for a cluster that does not exist, as the AWS CLI prints it.
const resourceNotFound = "ResourceNotFoundException"

// Presence asks EKS whether the kubeconfig's cluster exists, through the same `aws` program, profile
// and environment that the kubeconfig uses for its tokens. A cluster of the same name at another
// address is another cluster: the kubeconfig's is gone.
func (c *Cluster) Presence(ctx context.Context, name, region string) (Presence, error) {
	if c.user == nil || c.user.Exec == nil {
		return Unknown, errors.New("asking EKS for the cluster: the kubeconfig has no aws command")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	command := describeCommand(ctx, c.user.Exec, name, region)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		if strings.Contains(stderr.String(), resourceNotFound) {
			return Gone, nil
		}
		return Unknown, fmt.Errorf(
			"asking EKS for cluster %q: %w: %s",
			name,
			err,
			strings.TrimSpace(stderr.String()),
		)
	}
	var reply struct {
		Cluster struct {
			Endpoint string `json:"endpoint"`
		} `json:"cluster"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &reply); err != nil {
		return Unknown, fmt.Errorf("decoding EKS's answer for cluster %q: %w", name, err)
	}
	if reply.Cluster.Endpoint != "" && !sameServer(reply.Cluster.Endpoint, c.server) {
		return Gone, nil
	}
	return Present, nil
}

func describeCommand(
	ctx context.Context,
	config *clientcmdapi.ExecConfig,
	name, region string,
) *exec.Cmd {
	args := []string{
		"eks",
		"describe-cluster",
		"--name",
		name,
		"--region",
		region,
		"--output",
		"json",
	}
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

func sameServer(a, b string) bool {
	clean := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, "/")) }
	return clean(a) == clean(b)
}
