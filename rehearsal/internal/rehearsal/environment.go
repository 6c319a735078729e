package rehearsal

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/daemon"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/engine"
)

// region is the only region of the emulated AWS account.
const region = daemon.Region

// Environment returns the variables with which the engine, its plugins and the Pulumi CLI work on
// the rehearsal in dir.
func Environment(dir, root string) (map[string]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	bin := filepath.Join(dir, "bin")
	// `aws` is this program under another name: see awscli.
	if err := replaceLink(self, filepath.Join(bin, "aws")); err != nil {
		return nil, err
	}
	for _, tool := range linkedTools() {
		if err := linkTool(filepath.Join(root, "bin", tool), filepath.Join(bin, tool)); err != nil {
			return nil, err
		}
	}
	endpoint, err := daemon.ReadEndpoint(dir)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home")
	return map[string]string{
		// The user's pulumi comes before the pinned one: a released CLI has its language hosts next
		// to it, the pinned one has none.
		"PATH": bin + ":" + filepath.Join(root, "provider") + ":" + os.Getenv("PATH") +
			":" + filepath.Join(root, "bin"),
		client.EnvDir:     dir,
		eventlog.Variable: eventsFile(dir),
		// The user's credentials must not reach a rehearsal, which needs none.
		"AWS_ACCESS_KEY_ID": "rehearsal", "AWS_SECRET_ACCESS_KEY": "rehearsal", "AWS_SESSION_TOKEN": "",
		"AWS_REGION": region, "AWS_PROFILE": "",
		// The SDK in raytrain calls the account, and nothing else that uses it reaches AWS.
		"AWS_ENDPOINT_URL": endpoint.AWS,
		"AWS_CONFIG_FILE": filepath.Join(home,
			"aws-config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, "aws-credentials"),
		"KUBECONFIG": filepath.Join(dir, "kubeconfig"),
		// Helm's caches must not mix with the user's.
		"HELM_CACHE_HOME": filepath.Join(home, "helm",
			"cache"), "HELM_CONFIG_HOME": filepath.Join(home, "helm", "config"),
		"HELM_DATA_HOME": filepath.Join(home, "helm", "data"),
	}, nil
}

// linkedTools lists what a rehearsal takes from the checkout, whatever else is on the PATH: an
// installed AWS provider would call the real AWS.
func linkedTools() []string {
	return []string{"kubectl", "pulumi-resource-aws", "pulumi-resource-eks",
		"pulumi-resource-kubernetes"}
}

// linkTool creates a link to an existing tool. With a dangling link the shell would use another
// program of that name.
func linkTool(target, name string) error {
	if _, err := os.Stat(target); err != nil {
		return fmt.Errorf("finding the rehearsal's tools: %w; next: run `make build` in the checkout",
			err)
	}
	return replaceLink(target, name)
}

func replaceLink(target, name string) error {
	if current, err := os.Readlink(name); err == nil && current == target {
		return nil
	}
	if err := os.Symlink(target, name+".new"); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("linking %q: %w", name, err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("linking %q: %w", name, err)
	}
	return nil
}

// ShellEnvironment returns the variables with which the Pulumi CLI and kubectl work on the
// rehearsal in dir from a shell.
func ShellEnvironment(dir, root string) (map[string]string, error) {
	env, err := Environment(dir, root)
	if err != nil {
		return nil, err
	}
	maps.Copy(env, engine.ShellEnvironment(dir))
	return env, nil
}
