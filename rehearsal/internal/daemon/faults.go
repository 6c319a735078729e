package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/disturb"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// Disturbance is what the daemon disturbs in its clusters. The zero value disturbs nothing.
type Disturbance struct {
	// Defect is shown by the stand-in for NCCL on every node.
	Defect standin.Defect `json:"defect,omitempty"`
	// Plan disturbs the connections to Ray's dashboard.
	Plan disturb.Plan `json:"plan"`
}

// outage is an outage of an API server or a node: of the node, if one is named.
type outage struct {
	Cluster string  `json:"cluster"`
	Node    string  `json:"node,omitempty"`
	Seconds float64 `json:"seconds"`
}

// handleFaults adds the faults that a rehearsal injects to the daemon's API.
func (d *daemon) handleFaults(mux *http.ServeMux) {
	mux.HandleFunc("POST /disturbance", answer(func(_ context.Context, wanted Disturbance) error {
		d.runtime.disturber.Set(wanted.Plan)
		return d.runtime.setDefect(wanted.Defect)
	}))
	mux.HandleFunc("POST /held", answer(func(ctx context.Context, _ struct{}) error {
		return d.runtime.disturber.Held(ctx)
	}))
	mux.HandleFunc("POST /release", answer(func(context.Context, struct{}) error {
		d.runtime.disturber.Release()
		return nil
	}))
	mux.HandleFunc("POST /outage", answer(func(ctx context.Context, wanted outage) error {
		found, err := d.runtime.find(wanted.Cluster)
		if err != nil {
			return err
		}
		duration := time.Duration(wanted.Seconds * float64(time.Second))
		if wanted.Node != "" {
			return found.restartNode(ctx, wanted.Node, duration)
		}
		return found.plane.Freeze(ctx, duration)
	}))
}

// answer returns a handler that decodes a request's JSON body for do.
func answer[T any](do func(context.Context, T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		var wanted T
		err := json.NewDecoder(request.Body).Decode(&wanted)
		if err == nil {
			err = do(request.Context(), wanted)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// currentDefect returns the defect of all nodes.
func (r *runtime) currentDefect() standin.Defect {
	r.defectMu.Lock()
	defer r.defectMu.Unlock()
	return r.defect
}

// setDefect gives all nodes, present and future, a defect.
func (r *runtime) setDefect(defect standin.Defect) error {
	r.defectMu.Lock()
	r.defect = defect
	r.defectMu.Unlock()
	folders, err := filepath.Glob(filepath.Join(r.config.Dir, "clusters", "*", "nodes", "*"))
	if err != nil {
		return fmt.Errorf("listing the folders of the nodes: %w", err)
	}
	var problems []error
	for _, folder := range folders {
		problems = append(problems, standin.WriteDefect(folder, defect))
	}
	return errors.Join(problems...)
}

// Disturb replaces the disturbance.
func (c *Client) Disturb(ctx context.Context, disturbance Disturbance) error {
	return c.control.Call(ctx, http.MethodPost, "/disturbance", disturbance, nil)
}

// Held waits until a request waits in the phase that the plan holds.
func (c *Client) Held(ctx context.Context) error {
	return c.control.Call(ctx, http.MethodPost, "/held", struct{}{}, nil)
}

// Release lets the held request go on.
func (c *Client) Release(ctx context.Context) error {
	return c.control.Call(ctx, http.MethodPost, "/release", struct{}{}, nil)
}

// FreezeAPIServer makes a cluster's API server unresponsive for a time, and waits for it.
func (c *Client) FreezeAPIServer(
	ctx context.Context,
	cluster string,
	duration time.Duration,
) error {
	wanted := outage{Cluster: cluster, Seconds: duration.Seconds()}
	return c.control.Call(ctx, http.MethodPost, "/outage", wanted, nil)
}

// RestartNode ends everything on a node, starts it again after a time, and waits for it.
func (c *Client) RestartNode(ctx context.Context, cluster, node string, after time.Duration) error {
	wanted := outage{Cluster: cluster, Node: node, Seconds: after.Seconds()}
	return c.control.Call(ctx, http.MethodPost, "/outage", wanted, nil)
}
