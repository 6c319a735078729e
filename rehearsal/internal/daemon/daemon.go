// Package daemon is the background process of a rehearsal: it serves the emulated AWS account and
// the image and chart registries, and runs the control planes and nodes of the account.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/charts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// Region is the only region of an emulated AWS account.
const Region = "us-east-2"

// Config configures a daemon.
type Config struct {
	// Dir is the rehearsal's folder.
	Dir string
	// Root is the checkout whose bin/ holds the toolchain.
	Root string
	// Speed divides AWS's latencies.
	Speed float64
}

// daemon holds the parts of a running daemon.
type daemon struct {
	config   Config
	tools    toolchain.Toolchain
	endpoint Endpoint
	registry *images.Registry
	charts   *charts.Repositories
	account  *account.Account
	runtime  *runtime
	log      *slog.Logger
	stop     context.CancelFunc
}

// Run serves the rehearsal in config.Dir until ctx ends, a signal arrives or a client stops it.
// Then it stops everything that it runs. The state stays on disk.
func Run(ctx context.Context, config Config) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := &daemon{config: config, stop: stop, log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	former, err := ReadEndpoint(config.Dir)
	if err != nil {
		return err
	}
	listeners, endpoint, err := listen(former)
	if err != nil {
		return err
	}
	defer listeners.close()
	d.endpoint = endpoint
	if err := d.build(ctx); err != nil {
		return err
	}
	servers := d.serve(listeners)
	// Clusters must run before a client can find the daemon.
	if err := d.account.Resume(ctx); err != nil {
		return errors.Join(fmt.Errorf("resuming the rehearsal: %w", err), d.close(servers))
	}
	if err := d.endpoint.write(config.Dir); err != nil {
		return errors.Join(err, d.close(servers))
	}
	d.log.Info("rehearsal daemon is up", "dir", config.Dir, "aws", endpoint.AWS)
	<-ctx.Done()
	return d.close(servers)
}

// build creates the parts that need no cluster.
func (d *daemon) build(ctx context.Context) (err error) {
	if d.tools, err = toolchain.Locate(d.config.Root); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	d.registry, err = images.New(ctx, d.endpoint.Registry, images.Config{
		Raytrain: self, RayVenv: d.tools.RayVenv, Operator: d.tools.KubeRayOperator,
		StandIn: standin.Folder(d.config.Root), Region: Region,
	})
	if err != nil {
		return err
	}
	if d.charts, err = charts.New(d.tools.KubeRayCRDs); err != nil {
		return err
	}
	d.runtime = newRuntime(d.config, d.tools, d.registry, d.endpoint, d.log)
	d.account, err = account.Open(account.Options{
		Dir: d.config.Dir, Region: Region, Speed: d.config.Speed, Runtime: d.runtime, Log: d.log,
	})
	return err
}

// serve starts the HTTP servers.
func (d *daemon) serve(l listeners) []*http.Server {
	var servers []*http.Server
	for _, part := range []struct {
		listener net.Listener
		handler  http.Handler
	}{
		{l.aws, d.account.Handler()}, {l.control, d.control()},
		{l.registry, d.registry.Handler()}, {l.charts, d.charts.Handler()},
	} {
		server := &http.Server{Handler: part.handler, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, server)
		go func() {
			if err := server.Serve(part.listener); !errors.Is(err, http.ErrServerClosed) {
				d.log.Error("serving ended", "address", part.listener.Addr().String(), "error", err)
			}
		}()
	}
	return servers
}

// control returns the handler of the daemon's own API.
func (d *daemon) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(d.status()) // the client may have gone
	})
	d.handleFaults(mux)
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		// Send the whole response before the server ends and drops it.
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusAccepted)
		if err := http.NewResponseController(w).Flush(); err != nil {
			d.log.Warn("responding to stop", "error", err)
		}
		d.stop()
	})
	return mux
}

func (d *daemon) status() Status {
	status := Status{
		ImageRepository: d.registry.RayTrainRepository(), Digests: d.registry.Digests(),
		ChartURL: d.endpoint.Charts, ChartVersions: map[charts.Chart]string{},
		Incidents: d.runtime.reported(),
	}
	for _, chart := range charts.All() {
		status.ChartVersions[chart] = d.charts.Version(chart)
	}
	return status
}

// shutdownTimeout bounds how long clusters may take to end: containers first, then control planes.
const shutdownTimeout = 30 * time.Second

// close stops everything and records on disk that the daemon is not running.
func (d *daemon) close(servers []*http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var (
		wait  sync.WaitGroup
		mutex sync.Mutex
		err   error
	)
	for _, server := range servers {
		wait.Go(func() {
			if closing := server.Close(); closing != nil {
				mutex.Lock()
				defer mutex.Unlock()
				err = errors.Join(err, closing)
			}
		})
	}
	wait.Wait()
	d.endpoint.PID = 0
	return errors.Join(err, d.runtime.close(ctx), d.endpoint.write(d.config.Dir))
}
