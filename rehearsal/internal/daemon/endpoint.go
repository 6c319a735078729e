package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
)

// Endpoint is the content of endpoint.json: the addresses of a rehearsal's APIs, all on loopback.
// The ports are chosen once per rehearsal and kept, because the stack's state contains them.
type Endpoint struct {
	Rehearsed bool `json:"rehearsed"`
	// AWS is the URL of the emulated AWS account.
	AWS string `json:"aws"`
	// Control is the URL of the daemon's own API.
	Control string `json:"control"`
	// Registry is the host and port of the image registry.
	Registry string `json:"registry"`
	// Charts is the URL below which each chart has its repository.
	Charts string `json:"charts"`
	// PID is the daemon's process id while it runs, 0 once it has stopped.
	PID int `json:"pid"`
}

// listeners are the daemon's sockets.
type listeners struct {
	aws, control, registry, charts net.Listener
}

func (l listeners) close() {
	for _, listener := range []net.Listener{l.aws, l.control, l.registry, l.charts} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

// ReadEndpoint returns the endpoint of the rehearsal in dir, the zero Endpoint if it never had one.
func ReadEndpoint(dir string) (Endpoint, error) {
	path := filepath.Join(dir, client.EndpointFile)
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, nil
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("reading the rehearsal's endpoints: %w", err)
	}
	var endpoint Endpoint
	if err := json.Unmarshal(body, &endpoint); err != nil {
		return Endpoint{}, fmt.Errorf("decoding %q: %w; next: end the process rehearsal-daemon of this folder, if one runs, and remove the file", path, err)
	}
	return endpoint, nil
}

func (e Endpoint) write(dir string) error {
	body, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the rehearsal's endpoints: %w", err)
	}
	path := filepath.Join(dir, client.EndpointFile)
	if err := os.WriteFile(path+".new", append(body, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the rehearsal's endpoints: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replacing %q: %w", path, err)
	}
	return nil
}

// listen opens the daemon's sockets, on the ports of an earlier daemon of this rehearsal if there
// was one.
func listen(former Endpoint) (listeners, Endpoint, error) {
	var l listeners
	endpoint := Endpoint{Rehearsed: true, PID: os.Getpid()}
	open := func(listener *net.Listener, was string) (string, error) {
		address := "127.0.0.1:0"
		if was != "" {
			address = was
		}
		opened, err := net.Listen("tcp", address)
		if err != nil {
			return "", fmt.Errorf("listening on %q: %w (is another daemon of this rehearsal running?)", address, err)
		}
		*listener = opened
		return opened.Addr().String(), nil
	}
	for _, want := range []struct {
		listener *net.Listener
		was      string
		set      func(address string)
	}{
		{&l.aws, hostOf(former.AWS), func(a string) { endpoint.AWS = "http://" + a }},
		{&l.control, hostOf(former.Control), func(a string) { endpoint.Control = "http://" + a }},
		{&l.registry, former.Registry, func(a string) { endpoint.Registry = a }},
		{&l.charts, hostOf(former.Charts), func(a string) { endpoint.Charts = "http://" + a }},
	} {
		address, err := open(want.listener, want.was)
		if err != nil {
			l.close()
			return listeners{}, Endpoint{}, err
		}
		want.set(address)
	}
	return l, endpoint, nil
}

const urlPrefix = "http://"

func hostOf(url string) string {
	if len(url) <= len(urlPrefix) {
		return ""
	}
	return url[len(urlPrefix):]
}
