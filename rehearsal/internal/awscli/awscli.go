// Package awscli replaces the AWS command-line interface in a rehearsal. It has only the commands
// that the eks component and a kubeconfig's exec entry call.
package awscli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// Version is what `aws --version` prints. The eks component requires 2.7.0 or later.
const Version = "aws-cli/2.31.0 Python/3.13.7 Linux/rehearsal exe/x86_64"

// Exit statuses. Source: AWS CLI user guide, "Command line return codes".
const (
	exitOK      = 0
	exitUsage   = 252
	exitService = 254
	exitGeneral = 255
)

// Account is the part of the emulated AWS account that the commands need.
type Account interface {
	Token(ctx context.Context, request api.TokenRequest) (api.TokenResponse, error)
	Invoke(ctx context.Context, request api.InvokeRequest) (json.RawMessage, error)
}

// Command is one invocation of the program.
type Command struct {
	// Args are the arguments after the program's name.
	Args []string
	// Connect finds the account; it is called only by commands that need one.
	Connect func() (Account, error)
	// Stdout and Stderr receive the command's output.
	Stdout, Stderr io.Writer
}

// errUsage means that a command line is not supported.
var errUsage = errors.New("not part of the rehearsed aws command")

// Run runs the command and returns its exit status.
func (c Command) Run(ctx context.Context) int {
	err := c.run(ctx)
	var awsError *api.Error
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsage):
		fmt.Fprintf(c.Stderr,
			"aws (rehearsed): %v\nsupported commands: aws --version; aws eks get-token --cluster-name NAME "+
				"[--region R] [--role-arn ARN] [--output json]; aws eks describe-cluster --name "+
				"NAME "+
				"[--region R] [--output json]; aws eks update-kubeconfig --name NAME [--region R] "+
				"[--kubeconfig FILE]; aws sts get-caller-identity\n",
			err)
		return exitUsage
	case errors.As(err, &awsError):
		operation := awsError.Operation[strings.LastIndex(awsError.Operation, " ")+1:]
		fmt.Fprintf(c.Stderr, "An error occurred (%s) when calling the %s operation: %s\n",
			awsError.Code, operation, awsError.Message)
		return exitService
	default:
		fmt.Fprintf(c.Stderr, "aws (rehearsed): %v\n", err)
		return exitGeneral
	}
}

func (c Command) run(ctx context.Context) error {
	if len(c.Args) == 1 && c.Args[0] == "--version" {
		_, err := fmt.Fprintln(c.Stdout, Version)
		return err
	}
	options, words, err := parse(c.Args)
	if err != nil {
		return err
	}
	if output := options["output"]; output != "" && output != "json" {
		return fmt.Errorf("--output %q: only json: %w", output, errUsage)
	}
	switch strings.Join(words, " ") {
	case "eks get-token":
		return c.getToken(ctx, options)
	case "eks describe-cluster":
		return c.describeCluster(ctx, options)
	case "eks update-kubeconfig":
		return c.updateKubeconfig(ctx, options)
	case "sts get-caller-identity":
		return c.getCallerIdentity(ctx)
	default:
		return fmt.Errorf("%q: %w", strings.Join(c.Args, " "), errUsage)
	}
}

// parse splits a command line into words and options.
func parse(args []string) (options map[string]string, words []string, err error) {
	options = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, isOption := strings.CutPrefix(args[i], "--")
		if !isOption {
			words = append(words, args[i])
			continue
		}
		name, value, inline := strings.Cut(name, "=")
		switch name {
		case "cluster-name", "name", "region", "output", "role-arn", "profile", "kubeconfig":
		default:
			return nil, nil, fmt.Errorf("option --%s: %w", name, errUsage)
		}
		if !inline {
			if i+1 == len(args) {
				return nil, nil, fmt.Errorf("option --%s needs a value: %w", name, errUsage)
			}
			i++
			value = args[i]
		}
		options[name] = value
	}
	return options, words, nil
}

// execCredential is the output of a kubeconfig's exec entry.
// Source: Kubernetes, "client-go credential plugins".
type execCredential struct {
	Kind       string           `json:"kind"`
	APIVersion string           `json:"apiVersion"`
	Spec       struct{}         `json:"spec"`
	Status     credentialStatus `json:"status"`
}

type credentialStatus struct {
	ExpirationTimestamp string `json:"expirationTimestamp"`
	Token               string `json:"token"`
}

func (c Command) getToken(ctx context.Context, options map[string]string) error {
	if options["cluster-name"] == "" {
		return fmt.Errorf("the following arguments are required: --cluster-name: %w", errUsage)
	}
	account, err := c.Connect()
	if err != nil {
		return err
	}
	answer, err := account.Token(ctx, api.TokenRequest{
		ClusterName: options["cluster-name"], Region: region(options), RoleARN: options["role-arn"],
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(c.Stdout).Encode(execCredential{
		Kind: "ExecCredential", APIVersion: requestedVersion(os.Getenv("KUBERNETES_EXEC_INFO")),
		Status: credentialStatus{ExpirationTimestamp: answer.Expiration, Token: answer.Token},
	})
}

// region returns the region of a command, in the CLI's order of precedence.
func region(options map[string]string) string {
	for _, candidate := range []string{options["region"], os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")} {
		if candidate != "" {
			return candidate
		}
	}
	return ""
}

// requestedVersion returns the API version that the caller requests in KUBERNETES_EXEC_INFO.
func requestedVersion(info string) string {
	const usual = "client.authentication.k8s.io/v1beta1"
	var asked struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal([]byte(info), &asked); err != nil || asked.APIVersion == "" {
		return usual
	}
	return asked.APIVersion
}

func (c Command) getCallerIdentity(ctx context.Context) error {
	account, err := c.Connect()
	if err != nil {
		return err
	}
	answer, err := account.Invoke(ctx,
		api.InvokeRequest{Token: "aws:index/getCallerIdentity:getCallerIdentity"})
	if err != nil {
		return err
	}
	var identity struct {
		UserID  string `json:"userId"`
		Account string `json:"accountId"`
		ARN     string `json:"arn"`
	}
	if err := json.Unmarshal(answer, &identity); err != nil {
		return fmt.Errorf("decoding the caller's identity: %w", err)
	}
	return json.NewEncoder(c.Stdout).Encode(map[string]string{
		"UserId": identity.UserID, "Account": identity.Account, "Arn": identity.ARN,
	})
}
