package evidence

import (
	"fmt"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// nodeManifest is what jobs/script's hook writes on each node that runs a worker process of the
// job.
type nodeManifest struct {
	SubmissionID string `json:"submissionId"`
	Nonce        string `json:"nonce"`
	Node         string `json:"node"`
}

// ofScript returns what a user's own script left. Each log in the job's folder is evidence, because
// only processes of this job know the folder. Which ranks are missing is decided by NCCL's lines.
func ofScript(run Run) gathered {
	var all gathered
	nodes := 0
	for _, file := range run.Files {
		base := file.base()
		switch {
		case strings.HasSuffix(base, ".log"):
			all.last = append(all.last, file.source())
		case strings.HasPrefix(base, "node.") && strings.HasSuffix(base, ".json"):
			if problem := checkNode(file, run.Expected); problem != nil {
				all.found = append(all.found, *problem)
				continue
			}
			nodes++
		}
	}
	switch {
	case len(all.last) > 0:
	case nodes == 0:
		all.found = append(all.found, report.Finding{
			Code: "no-ray-workers", Severity: report.Error,
			Text: "no Ray worker process of job " + run.SubmissionID + " left a file",
			Cause: "the script started no Ray task, actor or Train worker. Processes that it starts in " +
				"another way leave no evidence",
			Next: "read driver.log next to the report; start the ranks with Ray, then " + run.Again,
		})
	default:
		all.found = append(all.found, report.Finding{
			Code: "nccl-unused", Severity: report.Error,
			Text: fmt.Sprintf("worker processes ran on %d nodes, and none wrote an NCCL log", nodes),
			Cause: "no process used NCCL: the ranks have no GPU or use another backend, such as gloo; " +
				"or the script sets NCCL_DEBUG or NCCL_DEBUG_FILE itself",
			Next: "read driver.log next to the report; use the backend nccl on two nodes or more, then " + run.Again,
		})
	}
	return all
}

// checkNode returns the finding about a node's manifest that belongs to another run or node; nil
// for none.
func checkNode(file File, want Expected) *report.Finding {
	refuse := func(text, cause string) *report.Finding {
		return &report.Finding{
			Code: "manifest-invalid", Severity: report.Error, File: file.Name, Text: text, Cause: cause,
			Next: "check which other program writes to Ray's log folder of this node",
		}
	}
	var manifest nodeManifest
	if err := file.decode(&manifest); err != nil {
		return refuse(err.Error(), "the manifest is not JSON")
	}
	switch {
	case manifest.Nonce != want.Nonce || manifest.SubmissionID != want.SubmissionID:
		return refuse(fmt.Sprintf("submissionId %q, nonce %q", manifest.SubmissionID, manifest.Nonce),
			"the manifest belongs to another run")
	case manifest.Node != file.Node:
		return refuse(fmt.Sprintf("node %q, found on %q", manifest.Node, file.Node),
			"the manifest is not on the node that it names: several Ray nodes share a log folder")
	}
	return nil
}
