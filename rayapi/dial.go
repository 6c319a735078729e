package rayapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// Dialer opens connections to a Ray head. A *net.Dialer dials the host of the base URL, Unix a socket
// on this machine, and package forward a port of a pod.
type Dialer interface {
	// DialContext opens a connection. Dialers with a fixed target ignore network and address.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Unix dials a Unix socket, such as one that `ssh -L socket:host:8265` serves.
type Unix struct {
	// Path is the socket's.
	Path string
}

// DialContext opens a connection to the socket.
func (u Unix) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", u.Path)
	if err != nil {
		return nil, fmt.Errorf("dialing socket %q: %w", u.Path, err)
	}
	return conn, nil
}

// NewTransport returns an HTTP transport that dials for each request. It keeps no connection: one to
// a head that was replaced, or through a tunnel that broke, would block the next request.
func NewTransport(dialer Dialer) *http.Transport {
	return &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
}
