// Package engine drives the real Pulumi engine for a rehearsal: the program
// that `pulumi up` runs on AWS, run inline against a file backend, with every
// plugin found on the rehearsal's PATH.
package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The names under which a rehearsal keeps its stack. The project's name is
// that of Pulumi.yaml, so that the Pulumi CLI works on a kept rehearsal.
const (
	ProjectName = "ray-train-efa"
	StackName   = "rehearsal"
)

// Passphrase protects the secrets of a rehearsed stack. It is no secret: a
// rehearsed account holds nothing worth hiding, and the Pulumi CLI needs the
// same one on a kept rehearsal.
const Passphrase = "rehearsal"

// Config says where an Engine works.
type Config struct {
	// Dir is the rehearsal's folder: backend, project folder and Pulumi home
	// lie below it.
	Dir string
	// Root is the folder whose bin/ holds the pinned pulumi.
	Root string
	// Env is added to the environment of the engine and its plugins; PATH in
	// it decides which plugins run.
	Env map[string]string
	// Settings are the stack's configuration: texts, or what JSON can hold, by
	// key with its namespace. Dots in a key make it a path.
	Settings map[string]any
	// Program is the Pulumi program.
	Program pulumi.RunFunc
	// Out receives progress for people.
	Out io.Writer
}

// Engine runs one stack.
type Engine struct {
	stack auto.Stack
	out   io.Writer
}

// BackendURL is the file backend of the rehearsal in dir.
func BackendURL(dir string) string {
	return "file://" + filepath.Join(dir, "backend")
}

// ProjectDir is the folder that holds the settings file of the stack.
func ProjectDir(dir string) string { return filepath.Join(dir, "project") }

// settingsFile is the settings file of the stack.
func settingsFile(dir string) string {
	return filepath.Join(ProjectDir(dir), "Pulumi."+StackName+".yaml")
}

// pulumiHome keeps logins, plugins and policies of the user's out of a rehearsal.
func pulumiHome(dir string) string { return filepath.Join(dir, "pulumi-home") }

// New opens the stack in cfg.Dir, creating it on first use, and writes its
// settings.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	for _, dir := range []string{filepath.Join(cfg.Dir, "backend"), ProjectDir(cfg.Dir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making the rehearsal's folder: %w", err)
		}
	}
	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: cfg.Root})
	if err != nil {
		return nil, fmt.Errorf("starting the pinned pulumi: %w (run `make setup`)", err)
	}
	stack, err := auto.UpsertStackInlineSource(ctx, StackName, ProjectName, cfg.Program,
		auto.Pulumi(command),
		auto.WorkDir(ProjectDir(cfg.Dir)),
		auto.PulumiHome(pulumiHome(cfg.Dir)),
		auto.EnvVars(environment(cfg)),
		auto.Project(workspace.Project{
			Name:    tokens.PackageName(ProjectName),
			Runtime: workspace.NewProjectRuntimeInfo("go", nil),
			Backend: &workspace.ProjectBackend{URL: BackendURL(cfg.Dir)},
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("opening stack %q: %w", StackName, err)
	}
	if err := releaseStaleLock(ctx, stack, cfg.Dir); err != nil {
		return nil, err
	}
	if err := forgetSettings(ctx, stack); err != nil {
		return nil, err
	}
	settings, err := configJSON(cfg.Settings)
	if err != nil {
		return nil, err
	}
	if err := stack.SetAllConfigJson(ctx, settings, nil); err != nil {
		return nil, fmt.Errorf("writing the settings of stack %q: %w", StackName, err)
	}
	return &Engine{stack: stack, out: cfg.Out}, nil
}

// forgetSettings empties the stack's settings: one that an earlier step was given
// and this one is not must have its default again.
func forgetSettings(ctx context.Context, stack auto.Stack) error {
	stored, err := stack.Workspace().StackSettings(ctx, stack.Name())
	if err != nil { // a new stack has none yet
		return nil //nolint:nilerr // see above
	}
	stored.Config = nil
	if err := stack.Workspace().SaveStackSettings(ctx, stack.Name(), stored); err != nil {
		return fmt.Errorf("emptying the settings of stack %q: %w", StackName, err)
	}
	return nil
}

// ShellEnvironment is what the Pulumi CLI needs to work on the stack in dir.
// The engine of a rehearsal gets it too, so that one which is started in a
// shell that works on another rehearsal does not mix the two.
func ShellEnvironment(dir string) map[string]string {
	return map[string]string{
		"PULUMI_BACKEND_URL":       BackendURL(dir),
		"PULUMI_CONFIG_PASSPHRASE": Passphrase,
		"PULUMI_HOME":              pulumiHome(dir),
		"PULUMI_SKIP_UPDATE_CHECK": "true",
		// A plugin that is not on PATH must be an error, never a download, and
		// one that is there must win over an installed one, which talks to AWS.
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		"PULUMI_IGNORE_AMBIENT_PLUGINS":               "false",
		"PULUMI_STACK":                                StackName,
		// The Pulumi CLI takes it for --config-file from 3.208 on.
		"PULUMI_OPTION_CONFIG_FILE": settingsFile(dir),
		"RAYTRAIN_REHEARSAL_CONFIG": settingsFile(dir),
	}
}

func environment(cfg Config) map[string]string {
	env := ShellEnvironment(cfg.Dir)
	for key, value := range cfg.Env {
		env[key] = value
	}
	return env
}

// operation is what differs between the engine's four operations: it streams
// events into ch and returns when the engine has ended.
type operation func(ctx context.Context, ch chan<- events.EngineEvent) error

func (e *Engine) run(ctx context.Context, title string, op operation) (*Update, error) {
	update := newUpdate(title, time.Now())
	view := newView(e.out, update)
	ch := make(chan events.EngineEvent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range ch {
			update.apply(event.EngineEvent, time.Now())
			view.refresh()
		}
	}()
	stop := view.start()
	err := op(ctx, ch)
	// The Automation API closes the channel when the engine's event log ends;
	// when the engine could not start it never does, so do not wait for ever.
	select {
	case <-done:
	case <-time.After(eventDrainTimeout):
	}
	stop()
	update.finish(time.Now(), err)
	return update, err
}

// eventDrainTimeout bounds the wait for events after the engine has ended.
const eventDrainTimeout = 5 * time.Second

// Preview runs `pulumi preview`.
func (e *Engine) Preview(ctx context.Context) (*Update, error) {
	return e.run(ctx, "preview", func(ctx context.Context, ch chan<- events.EngineEvent) error {
		_, err := e.stack.Preview(ctx, optpreview.EventStreams(ch), optpreview.SuppressProgress())
		return err
	})
}

// Up runs `pulumi up`.
func (e *Engine) Up(ctx context.Context) (*Update, error) {
	return e.run(ctx, "up", func(ctx context.Context, ch chan<- events.EngineEvent) error {
		_, err := e.stack.Up(ctx, optup.EventStreams(ch), optup.SuppressProgress())
		return err
	})
}

// Refresh runs `pulumi refresh`.
func (e *Engine) Refresh(ctx context.Context) (*Update, error) {
	return e.run(ctx, "refresh", func(ctx context.Context, ch chan<- events.EngineEvent) error {
		_, err := e.stack.Refresh(ctx, optrefresh.EventStreams(ch), optrefresh.SuppressProgress())
		return err
	})
}

// Destroy runs `pulumi destroy`.
func (e *Engine) Destroy(ctx context.Context) (*Update, error) {
	return e.run(ctx, "destroy", func(ctx context.Context, ch chan<- events.EngineEvent) error {
		_, err := e.stack.Destroy(ctx, optdestroy.EventStreams(ch), optdestroy.SuppressProgress())
		return err
	})
}

// Outputs returns the stack's exports; secrets are replaced by "[secret]".
func (e *Engine) Outputs(ctx context.Context) (map[string]json.RawMessage, error) {
	outputs, err := e.stack.Outputs(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the exports of stack %q: %w", StackName, err)
	}
	values := make(map[string]json.RawMessage, len(outputs))
	for name, output := range outputs {
		if output.Secret {
			values[name] = json.RawMessage(`"[secret]"`)
			continue
		}
		raw, err := json.Marshal(output.Value)
		if err != nil {
			return nil, fmt.Errorf("encoding export %q: %w", name, err)
		}
		values[name] = raw
	}
	return values, nil
}

// Export returns the state of the stack as `pulumi stack export` prints it.
func (e *Engine) Export(ctx context.Context) ([]byte, error) {
	deployment, err := e.stack.Export(ctx)
	if err != nil {
		return nil, fmt.Errorf("exporting stack %q: %w", StackName, err)
	}
	raw, err := json.MarshalIndent(deployment, "", "    ")
	if err != nil {
		return nil, fmt.Errorf("encoding the state of stack %q: %w", StackName, err)
	}
	return raw, nil
}
