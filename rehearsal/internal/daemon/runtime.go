package daemon

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/disturb"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// runtime runs the resources of the account: a control plane per cluster, a node agent per
// instance, pods for add-ons. It implements api.Runtime.
type runtime struct {
	config   Config
	tools    toolchain.Toolchain
	registry *images.Registry
	endpoint Endpoint
	log      *slog.Logger

	mu       sync.Mutex
	clusters map[string]*cluster

	// disturber disturbs the connections of all clusters; defect is that of all nodes.
	disturber *disturb.Disturber
	defectMu  sync.Mutex
	defect    standin.Defect

	incidentsMu sync.Mutex
	incidents   []Incident
}

// Incident is the unexpected end of a part of the rehearsal.
type Incident struct {
	// Text names the part and the reason.
	Text string `json:"text"`
	// Restarted reports whether the part was restarted. If it was not, no step can succeed.
	Restarted bool `json:"restarted"`
}

// report records an incident for Status.
func (r *runtime) report(incident Incident) {
	r.incidentsMu.Lock()
	defer r.incidentsMu.Unlock()
	r.incidents = append(r.incidents, incident)
}

// reported returns the incidents so far.
func (r *runtime) reported() []Incident {
	r.incidentsMu.Lock()
	defer r.incidentsMu.Unlock()
	return slices.Clone(r.incidents)
}

var _ api.Runtime = (*runtime)(nil)

func newRuntime(
	config Config, tools toolchain.Toolchain, registry *images.Registry,
	endpoint Endpoint, log *slog.Logger,
) *runtime {
	return &runtime{
		config: config, tools: tools, registry: registry, endpoint: endpoint, log: log,
		clusters: map[string]*cluster{}, disturber: disturb.New(),
	}
}

func (r *runtime) clusterDir(name string) string {
	return filepath.Join(r.config.Dir, "clusters", name)
}

// ClusterCreated starts the cluster's control plane and its VPC's network.
func (r *runtime) ClusterCreated(
	_ context.Context, spec api.ClusterSpec,
) (api.ClusterEndpoints, error) {
	started, err := r.startCluster(spec)
	if err != nil {
		return api.ClusterEndpoints{}, fmt.Errorf("starting the control plane of %q: %w",
			spec.Name, err)
	}
	r.mu.Lock()
	r.clusters[spec.Name] = started
	r.mu.Unlock()
	return api.ClusterEndpoints{
		Endpoint: started.plane.Endpoint(),
		CAData:   base64.StdEncoding.EncodeToString(started.plane.CAPEM()),
	}, nil
}

// ClusterDeleted stops the cluster and removes its data.
func (r *runtime) ClusterDeleted(ctx context.Context, name string) error {
	r.mu.Lock()
	gone := r.clusters[name]
	delete(r.clusters, name)
	r.mu.Unlock()
	var err error
	if gone != nil {
		err = gone.stop(ctx)
	}
	return errors.Join(err, os.RemoveAll(r.clusterDir(name)))
}

// NodesChanged gives the cluster exactly the given nodes.
func (r *runtime) NodesChanged(ctx context.Context, name string, nodes []api.NodeSpec) error {
	found, err := r.find(name)
	if err != nil {
		return err
	}
	return found.setNodes(ctx, nodes)
}

// AddonChanged makes the cluster run exactly the given add-ons.
func (r *runtime) AddonChanged(ctx context.Context, name string, addons []api.AddonSpec) error {
	found, err := r.find(name)
	if err != nil {
		return err
	}
	return applyAddons(ctx, found.client, addons)
}

func (r *runtime) find(name string) (*cluster, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.clusters[name]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("finding cluster %q: it is not running", name)
}

// close stops every cluster and keeps its data.
func (r *runtime) close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var (
		wait  sync.WaitGroup
		mutex sync.Mutex
		err   error
	)
	for _, running := range r.clusters {
		wait.Go(func() {
			stopping := running.stop(ctx)
			mutex.Lock()
			defer mutex.Unlock()
			err = errors.Join(err, stopping)
		})
	}
	wait.Wait()
	r.clusters = map[string]*cluster{}
	return err
}
