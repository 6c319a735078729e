package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ray-train-efa/ray-train-efa/provider/kube"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/submit"
)

const (
	// addressVariable and tokenVariable are those of `ray job submit`.
	addressVariable = "RAY_API_SERVER_ADDRESS"
	tokenVariable   = "RAY_AUTH_TOKEN"
)

// place is where the Ray head is: at a URL, or behind the API server of a Kubernetes cluster.
type place struct {
	address                           string
	kubeconfig, namespace, rayCluster string
	// tokenFile is read, because a token must not be an argument, which other users can see.
	tokenFile string
}

func (p *place) register(set *pflag.FlagSet) {
	set.StringVar(&p.address, "address", os.Getenv(addressVariable),
		"URL of the Ray dashboard, such as http://127.0.0.1:8265; default: "+addressVariable)
	set.StringVar(&p.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster with --raycluster")
	set.StringVar(&p.rayCluster, "raycluster", "", "name of the RayCluster; its head is reached by port-forward")
	set.StringVar(&p.namespace, "namespace", "default", "namespace of the RayCluster")
	set.StringVar(&p.tokenFile, "token-file", "", "file with Ray's token; default: "+tokenVariable)
}

// String returns the flags that select the same place again.
func (p *place) String() string {
	if p.rayCluster != "" {
		return fmt.Sprintf("--kubeconfig %s --raycluster %s --namespace %s", p.kubeconfig, p.rayCluster, p.namespace)
	}
	return "--address " + p.address
}

// problems lists invalid flag values. --raycluster takes precedence over the address of the environment.
func (p *place) problems() []error {
	var problems []error
	if (p.kubeconfig == "") != (p.rayCluster == "") {
		problems = append(problems, errors.New("flags --kubeconfig and --raycluster: must be set together"))
	}
	if p.rayCluster != "" || p.kubeconfig != "" {
		if p.address != "" && p.address != os.Getenv(addressVariable) {
			problems = append(problems, errors.New("flag --address: not allowed with --kubeconfig"))
		}
		return problems
	}
	parsed, err := url.Parse(p.address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		problems = append(problems, fmt.Errorf(
			"flag --address %q: must be the URL of a Ray dashboard, such as http://127.0.0.1:8265", p.address))
	}
	return problems
}

// submitter returns a submitter for the place; nothing is sent to Ray yet.
func (p *place) submitter(ctx context.Context) (submit.Submitter, error) {
	token, err := p.token()
	if err != nil {
		return submit.Submitter{}, err
	}
	if p.rayCluster == "" {
		client := rayapi.New(rayapi.Options{BaseURL: strings.TrimRight(p.address, "/"), Token: token})
		return submit.Submitter{Ray: client, Token: token}, nil
	}
	text, err := os.ReadFile(p.kubeconfig)
	if err != nil {
		return submit.Submitter{}, fmt.Errorf("reading --kubeconfig: %w", err)
	}
	cluster, err := kube.Connect(string(text))
	if err != nil {
		return submit.Submitter{}, err
	}
	client, token, err := cluster.Ray(ctx, p.namespace, p.rayCluster)
	return submit.Submitter{Ray: client, Token: token}, err
}

// token returns Ray's token; empty where authentication is off.
func (p *place) token() (string, error) {
	if p.tokenFile == "" {
		return strings.TrimSpace(os.Getenv(tokenVariable)), nil
	}
	text, err := os.ReadFile(p.tokenFile)
	if err != nil {
		return "", fmt.Errorf("reading --token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
