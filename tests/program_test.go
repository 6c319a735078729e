package tests

import (
	"context"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/ray-train-efa/ray-train-efa/internal/eventlog"
	"github.com/ray-train-efa/ray-train-efa/internal/image"
	"github.com/ray-train-efa/ray-train-efa/internal/mistake"
	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/settings"
	"github.com/ray-train-efa/ray-train-efa/internal/stack"
)

const (
	projectName = "ray-train-efa"
	stackName   = "test"
)

// digest is a digest by its form; no such image exists.
var digest = "sha256:" + strings.Repeat("ab", 32)

// run is one run of the program.
type run struct {
	*monitor
	err error
	// refusals and prices are what the program appended to its event log.
	refusals []*refusal.Refusal
	prices   []float64
}

// options change a run from the default stack in a generous region.
type options struct {
	config  map[string]string
	cloud   *cloud
	preview bool
	// ranks is the number of ranks of the training job.
	ranks  int
	breaks map[resourceName]string
	// gpuStatus is the status of the GPU node group in the state.
	gpuStatus string
	// existing maps a subnet that an earlier update made to its zone.
	existing map[string]string
	// imageExists is what the image's registry answers; nil means that it has the image.
	imageExists stack.ImageExists
}

// settingsOf is the smallest usable config with changes; an empty value takes a setting away.
func settingsOf(t *testing.T, changes map[string]string) map[string]string {
	t.Helper()
	values := map[string]string{"publicAccessCidrs": `["203.0.113.7/32"]`, "imageDigest": digest}
	maps.Copy(values, changes)
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	raw, err := settings.Encode(values)
	require.NoError(t, err)
	return raw
}

// runProgram runs the whole program to its end; what it asked for can then be looked at.
func runProgram(t *testing.T, o options) run {
	t.Helper()
	if o.imageExists == nil {
		o.imageExists = func(context.Context, image.Reference) (bool, error) { return true, nil }
	}
	region := generous()
	if o.cloud != nil {
		region = *o.cloud
	}
	changes, err := mistake.FromEnvironment()
	require.NoError(t, err)
	m := &monitor{
		changes: changes,
		cloud:   region, ranks: o.ranks, preview: o.preview, breaks: o.breaks, existing: o.existing, gpuStatus: o.gpuStatus,
		seen: map[string]registration{}, hooks: map[string]*pulumirpc.Callback{},
	}
	server := grpc.NewServer()
	pulumirpc.RegisterResourceMonitorServer(server, m)
	pulumirpc.RegisterEngineServer(server, m)
	var config net.ListenConfig
	listener, err := config.Listen(context.WithoutCancel(t.Context()), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	events := filepath.Join(t.TempDir(), "events")
	err = pulumi.RunErr(stack.Program(eventlog.To(events), o.imageExists), func(info *pulumi.RunInfo) {
		info.Project, info.Stack = projectName, stackName
		info.MonitorAddr, info.EngineAddr = listener.Addr().String(), listener.Addr().String()
		info.Config, info.DryRun = settingsOf(t, o.config), o.preview
	})
	server.Stop()
	require.NoError(t, <-served)
	r := run{monitor: m, err: err}
	logged, err := eventlog.Read(events)
	require.NoError(t, err)
	for _, event := range logged {
		if event.Refusal != nil {
			r.refusals = append(r.refusals, event.Refusal)
		}
		if event.HourlyUSD != nil {
			r.prices = append(r.prices, *event.HourlyUSD)
		}
	}
	return r
}

// green runs the program, which must succeed.
func green(t *testing.T, o options) run {
	t.Helper()
	r := runProgram(t, o)
	require.NoError(t, r.err)
	return r
}

// all returns all registrations, sorted by URN.
func (r run) all() []registration {
	list := make([]registration, 0, len(r.seen))
	for _, urn := range slices.Sorted(maps.Keys(r.seen)) {
		list = append(list, r.seen[urn])
	}
	return list
}

// ofType returns all registrations of a type.
func (r run) ofType(typ string) []registration {
	return slices.DeleteFunc(r.all(), func(made registration) bool { return made.typ != typ })
}

// one returns the registration of that type and name.
func (r run) one(t *testing.T, typ, name string) registration {
	t.Helper()
	for _, made := range r.all() {
		if made.typ == typ && made.name == name {
			return made
		}
	}
	require.Failf(t, "not registered", "%s %q is not among the program's resources", typ, name)
	return registration{}
}

// export returns a stack output, decrypted if it is secret.
func (r run) export(t *testing.T, name string) any {
	t.Helper()
	value, ok := r.exports[resource.PropertyKey(name)]
	require.True(t, ok, "the stack exports no %q", name)
	return plain(value)
}

// refused runs the program and requires refusals. It returns their codes and what was printed.
func (r run) refused(t *testing.T) (codes []string, printed string) {
	t.Helper()
	require.ErrorIs(t, r.err, stack.ErrReported)
	assert.Equal(t, "none", r.export(t, "verdict"), "not that of an earlier update")
	assert.Empty(t, r.export(t, "reportPath"))
	for _, one := range r.refusals {
		codes = append(codes, one.Code)
		assert.NotEmpty(t, one.Next, one.Summary)
		assert.NotEmpty(t, one.Billing, one.Summary)
	}
	return codes, strings.Join(r.log, "\n")
}
