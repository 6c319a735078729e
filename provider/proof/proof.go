// Package proof says what a verdict is about, as a hash: another hash needs
// another run.
package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// Subject is everything that can change the outcome of a run. What cannot is
// left out on purpose: kubeconfig, time-outs, tags, prices, report folder.
type Subject struct {
	// Code is the SHA-256 of the submitted zip, which is built deterministically.
	Code string `json:"code"`
	// Entrypoint is the job's command.
	Entrypoint            string            `json:"entrypoint"`
	Training              train.Config      `json:"training"`
	ImageDigest           string            `json:"imageDigest"`
	Environment           map[string]string `json:"environment"`
	LaunchTemplateVersion string            `json:"launchTemplateVersion"`
	AMIRelease            string            `json:"amiRelease"`
	NodeType              string            `json:"nodeType"`
	NodeCount             int               `json:"nodeCount"`
	ChartVersions         map[string]string `json:"chartVersions"`
	// RayCluster is the cluster's name and spec: jobs run on that one.
	RayCluster     string            `json:"rayCluster"`
	RayClusterSpec string            `json:"rayClusterSpec"`
	Expectations   jobs.Expectations `json:"expectations"`
}

// Hash is the SHA-256 of the subject in hexadecimal. Maps and a spec that is
// JSON are put in order first, so that only meaning counts.
func Hash(subject Subject) (string, error) {
	subject.RayClusterSpec = inOrder(subject.RayClusterSpec)
	text, err := json.Marshal(subject)
	if err != nil {
		return "", fmt.Errorf("hashing the proof's subject: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// inOrder sorts the keys of a JSON text; any other text is left alone.
func inOrder(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return string(sorted)
}
