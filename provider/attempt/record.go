// Package attempt makes sure that a training job runs exactly once for each attempt, and defines
// what an attempt proves. Pulumi stores state only when an operation returns, so the record of an
// attempt is in the cluster, where it survives a killed update.
//
// Its terms:
//   - proof: everything that can change the outcome of a run, identified by a hash
//   - attempt: one submission of the job for a proof
//   - instance: a TrainingJob resource, from create to delete
//   - record: the newest attempt of a resource, stored in a ConfigMap
//   - adopted: an update continues with the recorded attempt instead of a new one
//   - superseded: a new attempt replaces it
//   - settled: judged, stopped or superseded; never adopted
package attempt

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Record is what the cluster stores about the newest attempt of one resource.
// It is written before the job is submitted.
type Record struct {
	// Instance identifies the resource from create to delete.
	Instance string `json:"instance"`
	// Number counts the attempts under this resource's name, from 1; it continues after a delete
	// and a new create, so that no id is used twice.
	Number int `json:"attempt"`
	// Nonce is a random text of this attempt; it is also in the manifests and the job's metadata.
	Nonce string `json:"nonce"`
	// ProofHash is the hash of the proof.
	ProofHash string `json:"proofHash"`
	// SubmissionID is the Ray job's.
	SubmissionID string `json:"submissionId"`
	// Session is the head's session at the submission; empty before it.
	Session string `json:"session"`
	// Counters are the worker pods' EFA counters before the submission, by pod; null when they
	// could not be read.
	Counters preflight.Readings `json:"counters,omitempty"`
	// WorldSize, Nodes and Provider are what the run requires, Script whether it runs a user's own
	// script, so that its evidence can be judged without the inputs. They are zero in records of
	// earlier releases.
	WorldSize int    `json:"worldSize,omitempty"`
	Nodes     int    `json:"nodes,omitempty"`
	Provider  string `json:"provider,omitempty"`
	Script    bool   `json:"script,omitempty"`
	// Settled is true once the attempt was judged, stopped or superseded. A settled attempt is
	// never adopted.
	Settled bool `json:"settled"`
	// Verdict and JobStatus are the outcome of an attempt that was judged; empty for any other, and
	// in records of earlier releases.
	Verdict   report.Verdict   `json:"verdict,omitempty"`
	JobStatus rayapi.JobStatus `json:"jobStatus,omitempty"`
}

// nameLength leaves room in a submission id, which has at most 63 characters,
// for "-", 8 of the hash, "-a" and an attempt number of 5 digits.
const nameLength = 63 - len("-12345678-a12345")

// ErrInvalidName is wrapped by errors about resource names.
var ErrInvalidName = errors.New("invalid resource name")

var validName = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)

// ValidateName returns an error unless a resource's name can be part of a submission id and of a
// ConfigMap's name.
func ValidateName(name string) error {
	if len(name) > nameLength || !validName.MatchString(name) {
		return fmt.Errorf("checking %q: %w: use at most %d characters of a-z, 0-9 and -, starting with "+
			"a letter, such as \"train\"",
			name, ErrInvalidName, nameLength)
	}
	return nil
}

// SubmissionID returns the id of one attempt's job. No id is used twice: Ray appends to the log of
// an id that is used again, and old lines could be taken for new ones.
func SubmissionID(name, proofHash string, number int) string {
	return fmt.Sprintf("%s-%.8s-a%d", name, proofHash, number)
}

// RecordOf returns the record of a job from its metadata, without session and counters. Its number
// is 0 for a job of an earlier release.
func RecordOf(job rayapi.Job) Record {
	number, err := strconv.Atoi(job.Metadata[MetadataNumber])
	if err != nil {
		number = 0
	}
	return Record{
		Instance: job.Metadata[MetadataInstance], Number: number, Nonce: job.Metadata[MetadataNonce],
		ProofHash: job.Metadata[MetadataProof], SubmissionID: job.SubmissionID,
	}
}

// NewNonce returns 16 random bytes in hexadecimal.
func NewNonce() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) //nolint:errcheck // never fails, by its documentation
	return hex.EncodeToString(random[:])
}
