package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/nccl/render"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Bundle is everything that is kept of one attempt.
type Bundle struct {
	// Rehearsed marks a run on an emulated AWS account, on every page.
	Rehearsed    bool       `json:"rehearsed"`
	SubmissionID string     `json:"submissionId"`
	Attempt      int        `json:"attempt"`
	Nonce        string     `json:"nonce"`
	ProofHash    string     `json:"proofHash"`
	Job          rayapi.Job `json:"job"`
	Result       *Result    `json:"result"`
	Counters     *Counters  `json:"counters"`
	HourlyUSD    float64    `json:"hourlyUsd"`
	// Image is the container image of the ranks, and Environment the job's network settings; empty
	// when unknown.
	Image       string            `json:"image,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	// Refusal is null when the run passed.
	Refusal   *refusal.Refusal `json:"refusal"`
	Report    json.RawMessage  `json:"report"`
	Manifests []Manifest       `json:"manifests"`
}

// RehearsedNotice is the first line of every report of a rehearsal.
const RehearsedNotice = "REHEARSED: no AWS, no GPU, no EFA. A stand-in for NCCL wrote these logs."

// folderMode and fileMode keep evidence private: logs may contain host names.
const (
	folderMode = 0o750
	fileMode   = 0o640
)

// Archive writes report.txt and report.json to a folder below dir that is named after the
// submission, and returns the path of report.txt. It moves the copies of a Collector of that folder
// there: driverLog, nil for none, becomes driver.log, and the raw files of every rank are below ranks/.
// An adopted attempt overwrites its own files.
func Archive(
	dir string,
	bundle Bundle,
	result report.Report,
	files []File,
	driverLog *File,
) (_ string, err error) {
	encoded := &bytes.Buffer{}
	if err := render.JSON(encoded, result, render.Options{}); err != nil {
		return "", fmt.Errorf("encoding the report of %q: %w", bundle.SubmissionID, err)
	}
	bundle.Report = encoded.Bytes()
	asJSON, err := json.MarshalIndent(bundle, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding the report of %q: %w", bundle.SubmissionID, err)
	}
	asText, err := text(bundle, result)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(dir, bundle.SubmissionID)
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return "", fmt.Errorf("writing evidence: %w", err)
	}
	// Names come from the cluster, so the operating system enforces the folder (os.Root).
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", fmt.Errorf("writing evidence: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if driverLog != nil {
		err = move(root, *driverLog, "driver.log")
	}
	for _, file := range files {
		err = errors.Join(err, moveRank(root, file))
	}
	err = errors.Join(err,
		root.WriteFile("report.txt", asText, fileMode),
		root.WriteFile("report.json", append(asJSON, '\n'), fileMode),
		writePages(root, bundle, result))
	if err != nil {
		return "", fmt.Errorf("writing the evidence of %q: %w", bundle.SubmissionID, err)
	}
	return filepath.Join(folder, "report.txt"), nil
}

// moveRank moves the copy of a rank's file below ranks/.
func moveRank(root *os.Root, file File) error {
	if !filepath.IsLocal(filepath.FromSlash(file.Name)) {
		return fmt.Errorf("moving the copy of %q: %w", file.Name, ErrForeignName)
	}
	return move(root, file, "ranks/"+file.Name)
}

// move moves a copy within the job's folder.
func move(root *os.Root, file File, name string) error {
	name = filepath.FromSlash(name)
	from, err := filepath.Rel(root.Name(), file.Path)
	if err == nil {
		err = root.MkdirAll(filepath.Dir(name), folderMode)
	}
	if err == nil {
		err = root.Rename(from, name)
	}
	if err != nil {
		return fmt.Errorf("moving the copy of %q: %w", file.Name, err)
	}
	return nil
}

// text returns the report for people.
func text(bundle Bundle, result report.Report) ([]byte, error) {
	var out bytes.Buffer
	if bundle.Rehearsed || result.Rehearsed {
		fmt.Fprintln(&out, RehearsedNotice)
		result.Rehearsed = false // the notice is already there
	}
	fmt.Fprintf(&out, "submission %s", bundle.SubmissionID)
	if bundle.ProofHash != "" {
		fmt.Fprintf(&out, ", attempt %d, proof %.12s", bundle.Attempt, bundle.ProofHash)
	}
	fmt.Fprintln(&out)
	status := string(bundle.Job.Status)
	if status == "" {
		status = "not known to Ray"
	}
	fmt.Fprintf(&out, "job %s", status)
	if bundle.Job.ExitCode != nil {
		fmt.Fprintf(&out, ", exit status %d", *bundle.Job.ExitCode)
	}
	if bundle.Result != nil && bundle.Result.StepsPerSecond != nil {
		fmt.Fprintf(&out, ", %.4f steps/s", *bundle.Result.StepsPerSecond)
	}
	fmt.Fprintln(&out)
	switch {
	case bundle.Counters != nil:
		fmt.Fprintf(&out, "EFA counters of %d devices: tx %.0f bytes, rx %.0f bytes\n",
			bundle.Counters.Devices, bundle.Counters.TxBytes, bundle.Counters.RxBytes)
	case bundle.ProofHash != "":
		fmt.Fprintln(&out, "EFA counters: not readable in the pods")
	}
	if bundle.Refusal != nil {
		fmt.Fprintf(&out, "\nrefused:\n%s\n", bundle.Refusal.Error())
	}
	fmt.Fprintln(&out)
	if err := render.Text(&out, result, render.Options{}); err != nil {
		return nil, fmt.Errorf("writing the report of %q: %w", bundle.SubmissionID, err)
	}
	return out.Bytes(), nil
}
