package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

const (
	// firstPort and lastPort bound the ports that a control plane listens on. They are below the
	// kernel's usual range for outgoing connections (32768 and up), so that no connection takes a
	// port between its choice and its use.
	firstPort, lastPort = 15000, 29999
	// portTries is the number of ports to try, far more than a machine has in use.
	portTries = 200
)

// ports holds the ports on 127.0.0.1 of one control plane.
type ports struct {
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager"`
	Scheduler         int `json:"scheduler"`
}

// all returns a pointer to each port.
func (p *ports) all() []*int {
	return []*int{&p.Etcd, &p.EtcdPeer, &p.APIServer, &p.ControllerManager, &p.Scheduler}
}

// choosePorts returns the ports in file, with a free one for each that is taken or missing, and
// stores them. Kubeconfigs of a kept rehearsal name the API server's port, so it should not change.
func choosePorts(file string) (ports, error) {
	var chosen ports
	content, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return ports{}, fmt.Errorf("reading the ports of the last start: %w", err)
	default:
		if err := json.Unmarshal(content, &chosen); err != nil {
			return ports{}, fmt.Errorf("reading the ports of the last start from %q: %w", file, err)
		}
	}
	taken := map[int]bool{}
	for _, port := range chosen.all() {
		if *port == 0 || !free(*port) {
			if *port, err = freePort(taken); err != nil {
				return ports{}, err
			}
		}
		taken[*port] = true
	}
	if content, err = json.Marshal(chosen); err != nil {
		return ports{}, fmt.Errorf("encoding ports: %w", err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return ports{}, fmt.Errorf("storing the ports: %w", err)
	}
	return chosen, nil
}

// freePort returns a free port that is not in taken.
func freePort(taken map[int]bool) (int, error) {
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if !taken[port] && free(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("looking for a free port on 127.0.0.1 between %d and %d: none of %d tries was free", firstPort, lastPort, portTries)
}

// free reports whether a process can listen on the port.
func free(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
