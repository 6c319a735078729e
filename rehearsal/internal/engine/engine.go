// Package engine runs the real Pulumi engine for a rehearsal. The program, the same that `pulumi
// up` runs on AWS, runs inline against a file backend, and every plugin is found on the rehearsal's
// PATH.
package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// The names of a rehearsal's stack. The project's name is that of Pulumi.yaml, so that the Pulumi
// CLI works on a kept rehearsal.
const (
	ProjectName = "ray-train-efa"
	StackName   = "rehearsal"
)

// passphrase encrypts the secrets of a rehearsed stack. It is not secret, because an emulated AWS
// account has no secrets.
const passphrase = "rehearsal"

// Config configures an Engine.
type Config struct {
	// Dir is the rehearsal's folder. Backend, project folder and Pulumi home are below it.
	Dir string
	// Root is the folder whose bin/ holds the pinned pulumi.
	Root string
	// Env is added to the environment of the engine and its plugins. Its PATH decides which plugins
	// run.
	Env map[string]string
	// Settings are the stack's configuration by key with namespace: strings or JSON values. A key
	// with dots is a path.
	Settings map[string]any
	// Program is the Pulumi program.
	Program pulumi.RunFunc
	// Out receives the progress output.
	Out io.Writer
}

// Engine runs one stack.
type Engine struct {
	dir   string
	stack auto.Stack
	out   io.Writer
}

// backendURL returns the URL of the file backend. It writes no .attrs files: Pulumi replaces a state file
// in one step, but not the .attrs file next to it, and after a kill -9 between the two the stack cannot be
// opened ("failed to load checkpoint: EOF").
func backendURL(dir string) string {
	return "file://" + filepath.Join(dir, "backend") + "?metadata=skip"
}

// projectDir returns the folder that holds the settings file of the stack.
func projectDir(dir string) string { return filepath.Join(dir, "project") }

// settingsFile returns the settings file of the stack.
func settingsFile(dir string) string {
	return filepath.Join(projectDir(dir), "Pulumi."+StackName+".yaml")
}

// pulumiHome keeps the user's logins, plugins and policies out of a rehearsal.
func pulumiHome(dir string) string { return filepath.Join(dir, "pulumi-home") }

// New opens the stack in cfg.Dir, creating it on first use, and writes its settings.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	for _, dir := range []string{filepath.Join(cfg.Dir, "backend"), projectDir(cfg.Dir)} {
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
		auto.WorkDir(projectDir(cfg.Dir)),
		auto.PulumiHome(pulumiHome(cfg.Dir)),
		auto.EnvVars(environment(cfg)),
		auto.Project(workspace.Project{
			Name:    tokens.PackageName(ProjectName),
			Runtime: workspace.NewProjectRuntimeInfo("go", nil),
			Backend: &workspace.ProjectBackend{URL: backendURL(cfg.Dir)},
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("opening stack %q: %w", StackName, plain(err))
	}
	if err := releaseStaleLock(ctx, stack, cfg.Dir); err != nil {
		return nil, err
	}
	if err := removeSettings(ctx, stack); err != nil {
		return nil, err
	}
	settings, err := configJSON(cfg.Settings)
	if err != nil {
		return nil, err
	}
	if err := stack.SetAllConfigJson(ctx, settings, nil); err != nil {
		return nil, fmt.Errorf("writing the settings of stack %q: %w", StackName, plain(err))
	}
	return &Engine{dir: cfg.Dir, stack: stack, out: cfg.Out}, nil
}

// removeSettings removes the stack's settings, so that a setting of an earlier step has its default
// again.
func removeSettings(ctx context.Context, stack auto.Stack) error {
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

// configVariable names the settings file for older CLIs, and marks the processes of a rehearsal.
const configVariable = "RAYTRAIN_REHEARSAL_CONFIG"

// ShellEnvironment returns the variables with which the Pulumi CLI works on the stack in dir. The
// engine of a rehearsal gets them too: it may be started in a shell that works on another
// rehearsal.
func ShellEnvironment(dir string) map[string]string {
	return map[string]string{
		"PULUMI_BACKEND_URL":       backendURL(dir),
		"PULUMI_CONFIG_PASSPHRASE": passphrase,
		"PULUMI_HOME":              pulumiHome(dir),
		"PULUMI_SKIP_UPDATE_CHECK": "true",
		// A plugin that is not on the PATH must be an error, never a download. A plugin on the PATH
		// must take precedence over an installed one, which would call AWS.
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		"PULUMI_IGNORE_AMBIENT_PLUGINS":               "false",
		"PULUMI_STACK":                                StackName,
		// The Pulumi CLI takes it for --config-file from 3.208 on.
		"PULUMI_OPTION_CONFIG_FILE": settingsFile(dir),
		configVariable:              settingsFile(dir),
	}
}

func environment(cfg Config) map[string]string {
	env := ShellEnvironment(cfg.Dir)
	for key, value := range cfg.Env {
		env[key] = value
	}
	return env
}

// operation runs one of the engine's operations, sends its events to ch and returns when the engine
// has ended.
type operation func(ctx context.Context, ch chan<- events.EngineEvent) error

func (e *Engine) run(ctx context.Context, title string, op operation) (*Update, error) {
	record := newRecorder(title, time.Now())
	view := newView(e.out, record)
	ch := make(chan events.EngineEvent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range ch {
			record.apply(event.EngineEvent, time.Now())
			view.refresh()
		}
	}()
	stop := view.start()
	// The Automation API kills an engine ten seconds after it has interrupted it. Resources that
	// are being created would then be missing in the state.
	ended := make(chan struct{})
	ignore := context.AfterFunc(ctx, func() { e.interrupt(ended) })
	defer ignore()
	err := plain(op(context.WithoutCancel(ctx), ch))
	close(ended)
	// The Automation API closes the channel when the engine's event log ends. It never does when
	// the engine could not start.
	select {
	case <-done:
	case <-time.After(eventDrainTimeout):
	}
	stop()
	return record.finish(time.Now(), err), err
}

// secondInterrupt is the time between the first interrupt, after which the engine finishes running
// operations, and the second, which ends it immediately.
const secondInterrupt = 30 * time.Second

// interrupt interrupts the engine's update, once it holds the stack's lock, until it ends.
func (e *Engine) interrupt(ended <-chan struct{}) {
	for {
		next := 100 * time.Millisecond
		owners, _ := lockOwners(e.dir) // a lock that cannot be read is tried again
		for _, pid := range owners {
			if runs(pid) && syscall.Kill(pid, syscall.SIGINT) == nil {
				next = secondInterrupt
			}
		}
		select {
		case <-ended:
			return
		case <-time.After(next):
		}
	}
}

// eventDrainTimeout bounds the wait for events after the engine has ended.
const eventDrainTimeout = 5 * time.Second

// Preview runs `pulumi preview`.
func (e *Engine) Preview(ctx context.Context) (*Update, error) {
	// A preview creates nothing and takes no lock, so it may be killed.
	return e.run(ctx, "preview", func(_ context.Context, ch chan<- events.EngineEvent) error {
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

// plain returns the error printed by the engine. The Automation API wraps it in the exit status and
// all of standard output and standard error.
func plain(err error) error {
	if err == nil {
		return nil
	}
	_, printed, ok := strings.Cut(err.Error(), "\nstderr: ")
	if printed = strings.TrimSpace(printed); !ok || printed == "" {
		return err
	}
	return &engineError{text: strings.TrimPrefix(printed, "error: "), cause: err}
}

// engineError is an error with the engine's message.
type engineError struct {
	text  string
	cause error
}

func (e *engineError) Error() string { return e.text }
func (e *engineError) Unwrap() error { return e.cause }

// Export returns the state of the stack as `pulumi stack export` prints it.
func (e *Engine) Export(ctx context.Context) ([]byte, error) {
	deployment, err := e.stack.Export(ctx)
	if err != nil {
		return nil, fmt.Errorf("exporting stack %q: %w", StackName, plain(err))
	}
	raw, err := json.MarshalIndent(deployment, "", "    ")
	if err != nil {
		return nil, fmt.Errorf("encoding the state of stack %q: %w", StackName, err)
	}
	return raw, nil
}
