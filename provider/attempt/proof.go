package attempt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// Proof identifies what a run proves. Two runs with the same proof prove the same.
type Proof struct {
	// Hash is the SHA-256 of the proof's values, in hexadecimal.
	Hash string
	// legacy is the hash that releases before proofVersion 2 gave to the same values; empty when
	// they could not express them.
	legacy string
}

// Code identifies the training code.
type Code struct {
	// Revision is train.Revision of the code.
	Revision string
	// Entrypoint is the job's command.
	Entrypoint string
}

// NewProof returns the proof of a run with these inputs and this code.
func NewProof(in jobs.Inputs, code Code) (Proof, error) {
	values := proofValues(in, code)
	hash, err := hashValues(values)
	if err != nil {
		return Proof{}, err
	}
	legacy, err := legacyHash(in, code, values)
	if err != nil {
		return Proof{}, err
	}
	return Proof{Hash: hash, legacy: legacy}, nil
}

// Matches reports whether a recorded hash, of this release or of the ones before proofVersion 2, is
// that of this proof.
func (p Proof) Matches(hash string) bool {
	return hash != "" && (hash == p.Hash || hash == p.legacy)
}

// specName is the name of the value that holds the spec of the RayCluster.
const specName = "rayClusterSpec"

// proofVersion is the version of the encoding in proofText. Another version invalidates every
// proof, so it changes only when a value's meaning changes.
const proofVersion = 2

// value is one named value of a proof.
type value struct {
	// name is part of the hash: it never changes, whatever happens to the Go code.
	name  string
	value any
	// unset is the default, which is left out of the hash. Values that were added later have one, so
	// that older proofs stay valid.
	unset any
}

// proofValues lists everything that can change the outcome of a run. Other inputs are left out:
// kubeconfig, region, timeouts, prices, evidence folder.
func proofValues(in jobs.Inputs, code Code) []value {
	expectations := in.Expectations
	values := []value{
		{name: "imageDigest", value: in.ImageDigest},
		{name: "launchTemplateVersion", value: in.LaunchTemplateVersion},
		{name: "amiRelease", value: in.AMIRelease},
		{name: "instanceType", value: in.InstanceType},
		// Jobs run on this cluster.
		{name: "rayCluster", value: in.RayCluster},
		{name: specName, value: canonical(in.RayClusterSpec)},
		{name: "expectations.worldSize", value: expectations.WorldSize},
		{name: "expectations.nodes", value: expectations.Nodes},
		{name: "expectations.gpusPerNode", value: expectations.GPUsPerNode},
		{name: "expectations.efaPerNode", value: expectations.EFAPerNode},
		{name: "expectations.provider", value: expectations.Provider},
		{name: "expectations.requireEfaCounters", value: expectations.RequireEFACounters},
		{name: "expectations.requireFiInfo", value: expectations.RequireFIInfo},
	}
	values = append(values,
		value{name: "workingDir", value: in.WorkingDirDigest, unset: ""},
		value{name: "pip", value: strings.Join(in.Pip, "\n"), unset: ""})
	for name, text := range in.Environment {
		values = append(values, value{name: "environment." + name, value: text})
	}
	for chart, version := range in.ChartVersions {
		values = append(values, value{name: "chartVersions." + chart, value: version})
	}
	return append(values, codeValues(in, code)...)
}

// codeValues lists what the job computes: the built-in training, or a script of the user's own.
func codeValues(in jobs.Inputs, code Code) []value {
	if in.Entrypoint != "" {
		return []value{
			{name: "entrypoint", value: in.Entrypoint},
			{name: "training.device", value: in.Training.Device},
		}
	}
	values := []value{
		{name: "code", value: code.Revision},
		{name: "entrypoint", value: code.Entrypoint},
	}
	for _, option := range in.Training.Options() {
		values = append(values, value{name: "training." + option.Name, value: option.Value, unset: option.Unset})
	}
	return values
}

// proofText returns the canonical encoding of values: a version, then "name=JSON", one a line, in
// order of name.
func proofText(values []value) ([]byte, error) {
	lines := make([]string, 0, len(values))
	for _, v := range values {
		if v.isUnset() {
			continue
		}
		name, err := json.Marshal(v.name)
		if err != nil {
			return nil, fmt.Errorf("encoding the name of the proof's %q: %w", v.name, err)
		}
		text, err := json.Marshal(v.value)
		if err != nil {
			return nil, fmt.Errorf("encoding the proof's %q: %w", v.name, err)
		}
		lines = append(lines, string(name)+"="+string(text)+"\n")
	}
	slices.Sort(lines)
	return fmt.Appendf(nil, "raytrain proof version %d\n%s", proofVersion, strings.Join(lines, "")), nil
}

func (v value) isUnset() bool { return v.unset != nil && reflect.DeepEqual(v.value, v.unset) }

func hashValues(values []value) (string, error) {
	text, err := proofText(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// canonical returns JSON with sorted keys and without spaces; other text unchanged.
func canonical(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // a large integer must not lose digits
	var decoded any
	if decoder.Decode(&decoded) != nil {
		return text
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return text
	}
	var sorted bytes.Buffer
	if json.NewEncoder(&sorted).Encode(decoded) != nil {
		return text
	}
	return strings.TrimSpace(sorted.String())
}
