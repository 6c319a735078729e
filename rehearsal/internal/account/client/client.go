// Package client is a client of the emulated AWS account of a running rehearsal.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// EnvDir names the environment variable that holds the rehearsal's folder.
const EnvDir = "RAYTRAIN_REHEARSAL_DIR"

// EndpointFile is the file in the rehearsal's folder with the addresses of the daemon's APIs. Its
// key "aws" is the account's URL; this package ignores other keys.
const EndpointFile = "endpoint.json"

// Client calls one account.
type Client struct {
	base string
	http *http.Client
}

// New returns a client of the account at a URL such as http://127.0.0.1:4566.
func New(base string) *Client { return &Client{base: base, http: &http.Client{}} }

// FromEnvironment finds the account of the rehearsal that EnvDir names.
func FromEnvironment() (*Client, error) {
	dir := os.Getenv(EnvDir)
	if dir == "" {
		return nil, fmt.Errorf(
			"finding the emulated AWS account: %s is not set; run `raytrain rehearse env --dir "+
				"DIR`",
			EnvDir)
	}
	return FromDir(dir)
}

// FromDir finds the account of the rehearsal in dir.
func FromDir(dir string) (*Client, error) {
	path := filepath.Join(dir, EndpointFile)
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("finding the emulated AWS account (is the rehearsal running?): %w",
			err)
	}
	var endpoint struct {
		AWS string `json:"aws"`
	}
	if err := json.Unmarshal(body, &endpoint); err != nil {
		return nil, fmt.Errorf("decoding %q: %w", path, err)
	}
	if endpoint.AWS == "" {
		return nil, fmt.Errorf("reading %q: it has no key %q", path, "aws")
	}
	return New(endpoint.AWS), nil
}

// Call sends in as JSON to one of the daemon's paths and decodes the response into out, unless out
// is nil. A non-2xx response becomes an *api.Error if it contains one.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding the request to %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("preparing the request to %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("calling the emulated AWS account: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", path, err)
	}
	if response.StatusCode/100 != 2 {
		awsError := &api.Error{}
		if err := json.Unmarshal(answer, awsError); err != nil || awsError.Code == "" {
			return fmt.Errorf("calling %s: status %d: %s", path, response.StatusCode, answer)
		}
		return awsError
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("decoding the answer of %s: %w", path, err)
	}
	return nil
}

// Create creates a resource.
func (c *Client) Create(ctx context.Context,
	request api.ResourceRequest) (api.ResourceResponse, error) {
	return c.resource(ctx, api.PathCreate, request)
}

// Read returns a resource; its id is empty if it does not exist.
func (c *Client) Read(ctx context.Context,
	request api.ResourceRequest) (api.ResourceResponse, error) {
	return c.resource(ctx, api.PathRead, request)
}

// Update changes a resource in place.
func (c *Client) Update(ctx context.Context,
	request api.ResourceRequest) (api.ResourceResponse, error) {
	return c.resource(ctx, api.PathUpdate, request)
}

// Delete deletes a resource. A missing resource is not an error.
func (c *Client) Delete(ctx context.Context, request api.ResourceRequest) error {
	_, err := c.resource(ctx, api.PathDelete, request)
	return err
}

// Invoke calls one of the provider's functions.
func (c *Client) Invoke(ctx context.Context, request api.InvokeRequest) (json.RawMessage, error) {
	var answer api.InvokeResponse
	err := c.Call(ctx, http.MethodPost, api.PathInvoke, request, &answer)
	return answer.Return, err
}

// Token returns a bearer token for a cluster.
func (c *Client) Token(ctx context.Context, request api.TokenRequest) (api.TokenResponse, error) {
	var answer api.TokenResponse
	err := c.Call(ctx, http.MethodPost, api.PathToken, request, &answer)
	return answer, err
}

func (c *Client) resource(ctx context.Context, path string,
	request api.ResourceRequest) (api.ResourceResponse, error) {
	var answer api.ResourceResponse
	err := c.Call(ctx, http.MethodPost, path, request, &answer)
	return answer, err
}
