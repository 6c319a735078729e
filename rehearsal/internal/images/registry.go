package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Config holds the paths of the images' programs on this machine. Paths are absolute: they become
// part of the images and of their digests.
type Config struct {
	// Raytrain is the binary of this process. It contains the stand-ins of the device plugins.
	Raytrain string
	// RayVenv is the folder of the Python environment with Ray and torch.
	RayVenv string
	// Operator is the kuberay-operator binary.
	Operator string
	// StandIn is the folder that holds the NCCL stand-in's sitecustomize.py.
	StandIn string
	// Region is the AWS region whose EKS registry the cluster's add-ons name.
	Region string
}

func (c Config) validate() error {
	var problems []error
	for _, setting := range []struct{ name, value string }{
		{"Raytrain", c.Raytrain}, {"RayVenv", c.RayVenv}, {"Operator", c.Operator},
		{"StandIn", c.StandIn}, {"Region", c.Region},
	} {
		if setting.value == "" {
			problems = append(problems, fmt.Errorf("%s is empty: give it a value", setting.name))
		}
	}
	return errors.Join(problems...)
}

// Registry holds a rehearsal's images in memory.
type Registry struct {
	handler http.Handler
	host    string
	digests map[Variant]string
}

// Ref returns the reference, by digest, of a build of the training image.
func (r *Registry) Ref(v Variant) string {
	return fmt.Sprintf("%s@%s", r.RayTrainRepository(), r.digests[v])
}

// RayTrainRepository returns the training image's repository with this registry's host: the value
// of a rehearsal's imageRepository setting.
func (r *Registry) RayTrainRepository() string { return r.host + "/" + RayTrainRepository }

// Digests returns the digest of each build of the training image. One of them is a rehearsal's
// imageDigest setting.
func (r *Registry) Digests() map[Variant]string { return maps.Clone(r.digests) }

// New builds every image and stores it in a registry that is to be served at host,
// "127.0.0.1:PORT". The digests do not depend on host.
func New(ctx context.Context, host string, config Config) (*Registry, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("checking the registry's configuration: %w", err)
	}
	r := &Registry{
		handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))),
		host:    host,
		digests: map[Variant]string{},
	}
	definitions, err := catalog(config)
	if err != nil {
		return nil, err
	}
	for _, d := range definitions {
		if err := r.push(ctx, d); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Handler serves the registry's protocol.
func (r *Registry) Handler() http.Handler { return r.handler }

func (r *Registry) push(ctx context.Context, d definition) error {
	image, err := build(d)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(r.host+"/"+d.repository+":"+d.tag, name.Insecure)
	if err != nil {
		return fmt.Errorf("naming the image %q: %w", d.repository, err)
	}
	if err := remote.Write(tag, image, remote.WithContext(ctx),
		remote.WithTransport(direct{r.handler})); err != nil {
		return fmt.Errorf("storing the image %q: %w", tag, err)
	}
	if d.variant == "" {
		return nil
	}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("reading the digest of %q: %w", tag, err)
	}
	r.digests[d.variant] = digest.String()
	return nil
}

// ErrNotFound means that no image has the name, tag or digest. A kubelet would report ErrImagePull.
var ErrNotFound = errors.New("image not found in the rehearsal's registry")

// Resolve returns the image that ref names, by tag or by digest. Names of other registries are
// looked up in this registry's mirror of them.
func (r *Registry) Resolve(ctx context.Context, ref string) (Image, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return Image{}, fmt.Errorf("reading the image reference %q: %w", ref, err)
	}
	local, err := r.localReference(parsed)
	if err != nil {
		return Image{}, fmt.Errorf("reading the image reference %q: %w", ref, err)
	}
	found, err := remote.Image(local, remote.WithContext(ctx),
		remote.WithTransport(direct{r.handler}))
	if err != nil {
		var refused *transport.Error
		if errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
			return Image{}, fmt.Errorf("pulling image %q: %w", ref, ErrNotFound)
		}
		return Image{}, fmt.Errorf("pulling image %q: %w", ref, err)
	}
	config, err := found.ConfigFile()
	if err != nil {
		return Image{}, fmt.Errorf("reading the configuration of image %q: %w", ref, err)
	}
	digest, err := found.Digest()
	if err != nil {
		return Image{}, fmt.Errorf("reading the digest of image %q: %w", ref, err)
	}
	id := parsed.Context().Name() + "@" + digest.String()
	return imageOf(ref, id, digest.String(), config.Config), nil
}

// localReference returns the reference of the same image in this registry.
func (r *Registry) localReference(ref name.Reference) (name.Reference, error) {
	repository := ref.Context().RepositoryStr()
	if host := ref.Context().RegistryStr(); host != r.host {
		repository = host + "/" + repository
	}
	separator := ":"
	if strings.Contains(ref.Identifier(), ":") {
		separator = "@"
	}
	return name.ParseReference(r.host+"/"+repository+separator+ref.Identifier(), name.Insecure)
}

// direct is a transport that calls a handler of the same process.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		request.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, request)
	response := recorder.Result()
	response.Request = request
	return response, nil
}
