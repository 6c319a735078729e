// Package charts is the chart repository of a rehearsal: replacements for the three charts that the
// program installs. They have the values that the program sets and the pitfalls of the real ones. A
// comment in the chart's values gives the source of each pitfall.
package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

//go:embed all:files
var sources embed.FS

// Chart is one of the charts that the program installs.
type Chart string

// The charts, by the names that their publishers give them.
const (
	NVIDIADevicePlugin Chart = "nvidia-device-plugin"
	EFADevicePlugin    Chart = "aws-efa-k8s-device-plugin"
	KubeRayOperator    Chart = "kuberay-operator"
)

// All lists the charts.
func All() []Chart { return []Chart{NVIDIADevicePlugin, EFADevicePlugin, KubeRayOperator} }

// Repository returns the path of the chart's repository. Each publisher has its own, as in reality.
func (c Chart) Repository() string {
	switch c {
	case NVIDIADevicePlugin:
		return "k8s-device-plugin"
	case EFADevicePlugin:
		return "eks-charts"
	case KubeRayOperator:
		return "kuberay-helm"
	default:
		return string(c)
	}
}

// StaleEFARepository is the path of a repository for a fault. Its EFA chart has an allow-list that
// lacks newer instance types, so that the DaemonSet creates no pod on them and reports no error
// (eksctl#5090, #8089).
const StaleEFARepository = "eks-charts-stale"

// staleAllowList returns the EFA chart with an allow-list that no value changes.
func staleAllowList(contents []file) []file {
	const fromValues = "values: {{- toYaml $.Values.supportedInstanceLabels.values | nindent 22 }}"
	var stale []file
	for _, f := range contents {
		f.data = bytes.ReplaceAll(f.data, []byte(fromValues),
			[]byte("values: [g4dn.12xlarge, p3dn.24xlarge, p4d.24xlarge]"))
		stale = append(stale, f)
	}
	return stale
}

// Repositories serves packaged charts and their indexes over HTTP.
type Repositories struct {
	// files holds each file by its path, such as "/eks-charts/index.yaml".
	files    map[string][]byte
	versions map[Chart]string
}

// New packages the charts. crds is the folder with KubeRay's custom resource definitions, one YAML
// file each, as in its published module.
func New(crds string) (*Repositories, error) {
	r := &Repositories{files: map[string][]byte{}, versions: map[Chart]string{}}
	for _, chart := range All() {
		contents, err := chartFiles(chart)
		if err != nil {
			return nil, fmt.Errorf("reading chart %q: %w", chart, err)
		}
		if chart == KubeRayOperator {
			definitions, err := readDefinitions(crds)
			if err != nil {
				return nil, err
			}
			contents = append(contents, definitions...)
		}
		if err := r.add(chart, chart.Repository(), contents); err != nil {
			return nil, fmt.Errorf("packaging chart %q: %w", chart, err)
		}
		if chart == EFADevicePlugin {
			if err := r.add(chart, StaleEFARepository, staleAllowList(contents)); err != nil {
				return nil, fmt.Errorf("packaging chart %q with a stale allow-list: %w", chart, err)
			}
		}
	}
	return r, nil
}

// Version returns the only version of a chart.
func (r *Repositories) Version(chart Chart) string { return r.versions[chart] }

// Handler serves the repositories to Helm.
func (r *Repositories) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		data, ok := r.files[path.Clean(request.URL.Path)]
		if !ok {
			http.NotFound(w, request)
			return
		}
		http.ServeContent(w, request, path.Base(request.URL.Path), time.Time{},
			bytes.NewReader(data))
	})
}

// file is one file of a chart, named as below the chart's folder.
type file struct {
	name string
	data []byte
}

func chartFiles(chart Chart) ([]file, error) {
	root := path.Join("files", string(chart))
	var found []file
	err := fs.WalkDir(sources, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		found = append(found, file{name: strings.TrimPrefix(name, root+"/"), data: data})
		return nil
	})
	return found, err
}

func readDefinitions(dir string) ([]file, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing custom resource definitions in %q: %w", dir, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("listing custom resource definitions in %q: no YAML file there; next: run `make setup` in the checkout", dir)
	}
	slices.Sort(names)
	var found []file
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading custom resource definition %q: %w", name, err)
		}
		if !bytes.Contains(data, []byte("kind: CustomResourceDefinition")) {
			continue
		}
		found = append(found, file{name: "crds/" + filepath.Base(name), data: data})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("reading custom resource definitions in %q: no YAML file there defines one; next: run `make setup` in the checkout", dir)
	}
	return found, nil
}

// metadata is what an index repeats of a Chart.yaml.
type metadata struct {
	APIVersion  string `json:"apiVersion"`
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Version     string `json:"version"`
	AppVersion  string `json:"appVersion,omitempty"`
	KubeVersion string `json:"kubeVersion,omitempty"`
	Description string `json:"description,omitempty"`
}

type indexEntry struct {
	metadata
	Created time.Time `json:"created"`
	Digest  string    `json:"digest"`
	URLs    []string  `json:"urls"`
}

type index struct {
	APIVersion string                  `json:"apiVersion"`
	Generated  time.Time               `json:"generated"`
	Entries    map[string][]indexEntry `json:"entries"`
}

func (r *Repositories) add(chart Chart, repository string, contents []file) error {
	var about metadata
	for _, f := range contents {
		if f.name == "Chart.yaml" {
			if err := yaml.Unmarshal(f.data, &about); err != nil {
				return fmt.Errorf("reading Chart.yaml: %w", err)
			}
		}
	}
	if about.Name != string(chart) || about.Version == "" {
		return errors.New("reading Chart.yaml: name or version is not the chart's")
	}
	archive, err := pack(string(chart), contents)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(archive)
	archiveName := fmt.Sprintf("%s-%s.tgz", chart, about.Version)
	listing, err := yaml.Marshal(index{
		APIVersion: "v1",
		Generated:  epoch,
		Entries: map[string][]indexEntry{about.Name: {{
			metadata: about, Created: epoch, Digest: hex.EncodeToString(sum[:]), URLs: []string{archiveName},
		}}},
	})
	if err != nil {
		return fmt.Errorf("writing the index: %w", err)
	}
	r.files["/"+repository+"/index.yaml"] = listing
	r.files["/"+repository+"/"+archiveName] = archive
	r.versions[chart] = about.Version
	return nil
}

// epoch is the time stamp of everything packaged. The same chart must give the same bytes, or a
// second update would see a change.
var epoch = time.Unix(0, 0).UTC()

func pack(folder string, contents []file) ([]byte, error) {
	var packed bytes.Buffer
	compressor := gzip.NewWriter(&packed)
	writer := tar.NewWriter(compressor)
	for _, f := range contents {
		header := &tar.Header{Name: path.Join(folder, f.name), Mode: 0o644,
			Size: int64(len(f.data)), ModTime: epoch}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	if err := compressor.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
