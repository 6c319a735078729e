// Package evidence collects, judges and archives the files that the ranks of a job write.
package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Manifest is what a rank reports about itself; jobs/train/CONTRACT.md is the contract.
type Manifest struct {
	Rank      int `json:"rank"`
	WorldSize int `json:"worldSize"`
	LocalRank int `json:"localRank"`
	// Node is Ray's id of the rank's node.
	Node         string  `json:"node"`
	NodeIP       string  `json:"nodeIp"`
	Host         string  `json:"host"`
	PID          int     `json:"pid"`
	Nonce        string  `json:"nonce"`
	SubmissionID string  `json:"submissionId"`
	Attempt      int     `json:"attempt"`
	TrainAttempt int     `json:"trainAttempt"`
	NCCLFile     string  `json:"ncclFile"`
	NCCLVersion  *string `json:"ncclVersion"`
	TorchVersion string  `json:"torchVersion"`
	Device       string  `json:"device"`
}

// Expected is what the manifests of one attempt must contain.
type Expected struct {
	SubmissionID string
	Nonce        string
	WorldSize    int
	Nodes        int
}

// gathered is what is judged of a job.
type gathered struct {
	manifests []Manifest
	// last holds the logs that are judged, earlier those of earlier attempts of Ray Train.
	last, earlier []nccl.Source
	found         []report.Finding
}

// ofRanks returns what the ranks of the built-in training left.
func ofRanks(run Run) gathered {
	list, found := manifests(run.Files, run.Expected)
	found = append(found, checkRanks(list, run)...)
	last, earlier := rankLogs(run.Files, list)
	return gathered{manifests: list, last: last, earlier: earlier, found: found}
}

// rankLogs returns the NCCL files that the last manifests name, and those of earlier attempts of Ray
// Train.
func rankLogs(files []File, list []Manifest) (last, earlier []nccl.Source) {
	addressOf := make(map[fileKey]string, len(list))
	for _, manifest := range list {
		addressOf[manifest.log()] = manifest.NodeIP
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name, ".log") {
			continue
		}
		log := file.source()
		if address, named := addressOf[file.key()]; named {
			log.Address = address
			last = append(last, log)
		} else {
			earlier = append(earlier, log)
		}
	}
	return last, earlier
}

// manifests returns the manifests among the files. A manifest of another run, or from another node
// than it names, is returned as a finding. For a restarted rank the last manifest is used.
func manifests(files []File, want Expected) ([]Manifest, []report.Finding) {
	latest := map[int]Manifest{}
	var found []report.Finding
	for _, file := range files {
		if !strings.HasPrefix(file.base(), "rank") ||
			!strings.HasSuffix(file.Name, ".json") {
			continue
		}
		manifest, problem := parseManifest(file, want)
		if problem != nil {
			found = append(found, *problem)
			continue
		}
		if seen, ok := latest[manifest.Rank]; !ok || seen.TrainAttempt < manifest.TrainAttempt {
			latest[manifest.Rank] = manifest
		}
	}
	list := make([]Manifest, 0, len(latest))
	last := 0
	for _, manifest := range latest {
		last = max(last, manifest.TrainAttempt)
	}
	for _, manifest := range latest {
		if manifest.TrainAttempt == last {
			list = append(list, manifest)
		}
	}
	slices.SortFunc(list, func(a, b Manifest) int { return a.Rank - b.Rank })
	return list, found
}

func parseManifest(file File, want Expected) (Manifest, *report.Finding) {
	var manifest Manifest
	refuse := func(text, cause string) (Manifest, *report.Finding) {
		return Manifest{}, &report.Finding{
			Code:     "manifest-invalid",
			Severity: report.Error,
			File:     file.Name,
			Text:     text,
			Cause:    cause,
			Next:     "check the training code's evidence.py: it must write this attempt's values",
		}
	}
	if err := file.decode(&manifest); err != nil {
		return refuse(err.Error(), "the manifest is not JSON")
	}
	switch {
	case manifest.Nonce != want.Nonce || manifest.SubmissionID != want.SubmissionID:
		return refuse(
			fmt.Sprintf("submissionId %q, nonce %q", manifest.SubmissionID, manifest.Nonce),
			"the manifest belongs to another run",
		)
	case manifest.Node != file.Node:
		return refuse(fmt.Sprintf("node %q, found on %q", manifest.Node, file.Node),
			"the manifest is not on the node that it names")
	case manifest.Rank < 0 || manifest.Rank >= want.WorldSize || manifest.WorldSize != want.WorldSize:
		return refuse(fmt.Sprintf("rank %d of %d", manifest.Rank, manifest.WorldSize),
			fmt.Sprintf("the job must have exactly %d ranks", want.WorldSize))
	}
	return manifest, nil
}

// checkRanks returns which ranks, nodes and NCCL files are missing.
func checkRanks(list []Manifest, run Run) []report.Finding {
	want := run.Expected
	files := make(map[fileKey]bool, len(run.Files))
	for _, file := range run.Files {
		files[file.key()] = true
	}
	var found []report.Finding
	present := map[int]bool{}
	nodes := map[string]bool{}
	for _, manifest := range list {
		present[manifest.Rank] = true
		nodes[manifest.Node] = true
		if !files[manifest.log()] {
			rank := manifest.Rank
			found = append(found, report.Finding{
				Code:     "nccl-log-missing",
				Severity: report.Error,
				Rank:     &rank,
				File:     manifest.NCCLFile,
				Text:     "no file " + manifest.NCCLFile,
				Cause:    "the rank wrote no NCCL log: NCCL_DEBUG is not INFO, or NCCL never started",
				Next: "read the end of driver.log next to the report; set NCCL_DEBUG=INFO in " +
					"job.environment",
			})
		}
	}
	var missing []string
	for rank := range want.WorldSize {
		if !present[rank] {
			missing = append(missing, fmt.Sprint(rank))
		}
	}
	if len(missing) > 0 {
		found = append(found, report.Finding{
			Code:     "rank-missing",
			Severity: report.Error,
			Text: fmt.Sprintf(
				"%d of %d ranks left a manifest; missing: %s",
				len(present),
				want.WorldSize,
				strings.Join(missing, ", "),
			),
			Cause: "the ranks never started, or their node's files can no longer be read",
			Next:  "read the end of driver.log next to the report, then " + run.Again,
		})
	}
	if len(missing) == 0 && len(nodes) != want.Nodes {
		found = append(found, report.Finding{
			Code:     "nodes-not-spanned",
			Severity: report.Error,
			Text:     fmt.Sprintf("ranks ran on %d nodes, required: %d", len(nodes), want.Nodes),
			Cause:    "Ray placed the ranks differently, so the network between the nodes was not used as required",
			Next:     run.Again + "; if it happens again, compare `ray status` with the expected GPUs of each node",
		})
	}
	return found
}

// log identifies the log that a manifest names, on the manifest's own node.
func (m Manifest) log() fileKey { return fileKey{m.Node, m.NCCLFile} }
