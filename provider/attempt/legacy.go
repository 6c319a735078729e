package attempt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// legacyRevision is the training code of the releases that hashed Go structs.
const legacyRevision = "028e5c8fd0cb1b3caca250f67356b1f6"

// legacySubject is what those releases hashed, with the names that their Go fields had.
type legacySubject struct {
	Code                  string             `json:"code"`
	Entrypoint            string             `json:"entrypoint"`
	Training              legacyTraining     `json:"training"`
	ImageDigest           string             `json:"imageDigest"`
	Environment           map[string]string  `json:"environment"`
	LaunchTemplateVersion string             `json:"launchTemplateVersion"`
	AMIRelease            string             `json:"amiRelease"`
	NodeType              string             `json:"nodeType"`
	NodeCount             int                `json:"nodeCount"`
	ChartVersions         map[string]string  `json:"chartVersions"`
	RayCluster            string             `json:"rayCluster"`
	RayClusterSpec        string             `json:"rayClusterSpec"`
	Expectations          legacyExpectations `json:"expectations"`
}

type legacyTraining struct {
	Model             string  `json:"Model"`
	Steps             int     `json:"Steps"`
	BatchSize         int     `json:"BatchSize"`
	SequenceLength    int     `json:"SequenceLength"`
	LearningRate      float64 `json:"LearningRate"`
	Seed              int     `json:"Seed"`
	Device            string  `json:"Device"`
	WrapMinParameters int     `json:"WrapMinParameters"`
	MaxFailures       int     `json:"MaxFailures"`
}

type legacyExpectations struct {
	WorldSize   int    `json:"WorldSize"`
	Nodes       int    `json:"Nodes"`
	GPUsPerNode int    `json:"GPUsPerNode"`
	EFAPerNode  int    `json:"EFAPerNode"`
	Provider    string `json:"Provider"`
	EFACounters bool   `json:"EFACounters"`
	Probes      bool   `json:"Probes"`
}

// legacyHash returns the hash of these values in releases before proofVersion 2, so that their
// proofs stay valid. It returns an empty text if the code has changed since, or if a value is set
// that those releases did not have.
func legacyHash(in jobs.Inputs, code Code, values []value) (string, error) {
	if code.Revision != legacyRevision || in.Entrypoint != "" {
		return "", nil
	}
	for _, v := range values {
		if v.unset != nil && !v.isUnset() {
			return "", nil
		}
	}
	t, e := in.Training, in.Expectations
	text, err := json.Marshal(legacySubject{
		Code: "raytrain_" + legacyRevision + ".zip", Entrypoint: code.Entrypoint,
		Training: legacyTraining{
			Model: t.Model, Steps: t.Steps, BatchSize: t.BatchSize, SequenceLength: t.SequenceLength,
			LearningRate: t.LearningRate, Seed: t.Seed, Device: string(t.Device),
			WrapMinParameters: t.WrapMinParameters, MaxFailures: t.MaxFailures,
		},
		ImageDigest: in.ImageDigest, Environment: in.Environment,
		LaunchTemplateVersion: in.LaunchTemplateVersion, AMIRelease: in.AMIRelease,
		NodeType: in.InstanceType, NodeCount: e.Nodes, ChartVersions: in.ChartVersions,
		RayCluster: in.RayCluster, RayClusterSpec: legacyCanonical(in.RayClusterSpec),
		Expectations: legacyExpectations{
			WorldSize: e.WorldSize, Nodes: e.Nodes, GPUsPerNode: e.GPUsPerNode, EFAPerNode: e.EFAPerNode,
			Provider: e.Provider, EFACounters: e.RequireEFACounters, Probes: e.RequireFIInfo,
		},
	})
	if err != nil {
		return "", fmt.Errorf("computing the proof's hash of an earlier release: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// legacyCanonical returns what canonical returned then: numbers became floating point.
func legacyCanonical(text string) string {
	var decoded any
	if json.Unmarshal([]byte(text), &decoded) != nil {
		return text
	}
	sorted, err := json.Marshal(decoded)
	if err != nil {
		return text
	}
	return string(sorted)
}
