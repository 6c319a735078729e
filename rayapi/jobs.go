package rayapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

// JobStatus is the state of a submitted job.
type JobStatus string

// The states. The last three are final.
const (
	Pending   JobStatus = "PENDING"
	Running   JobStatus = "RUNNING"
	Succeeded JobStatus = "SUCCEEDED"
	Failed    JobStatus = "FAILED"
	Stopped   JobStatus = "STOPPED"
)

// RuntimeEnvFailed is the ErrorType of a job whose packages or files a node could not install.
const RuntimeEnvFailed = "RUNTIME_ENV_SETUP_FAILURE"

// Final reports whether the status never changes again.
func (s JobStatus) Final() bool { return s == Succeeded || s == Failed || s == Stopped }

// Job is a submitted job as the head reports it.
type Job struct {
	SubmissionID string `json:"submission_id"`
	// JobID is Ray's own id; empty until the driver has called ray.init.
	JobID      string    `json:"job_id"`
	Status     JobStatus `json:"status"`
	Entrypoint string    `json:"entrypoint"`
	// Message is why the job waits or how it failed.
	Message   string `json:"message"`
	ErrorType string `json:"error_type"`
	// StartTime and EndTime are in milliseconds since 1970; 0 when not reached.
	StartTime int64 `json:"start_time"`
	EndTime   int64 `json:"end_time"`
	// ExitCode is the driver's; nil unless it ran to its own end.
	ExitCode     *int              `json:"driver_exit_code"`
	DriverNodeID string            `json:"driver_node_id"`
	Metadata     map[string]string `json:"metadata"`
}

// RuntimeEnv is the part of Ray's runtime environment that is used here.
type RuntimeEnv struct {
	// WorkingDir is a package's URI, from PackageURI.
	WorkingDir string `json:"working_dir,omitempty"`
	// PyModules are URIs of packages whose top folder is on Python's path in every process.
	PyModules []string `json:"py_modules,omitempty"`
	// Pip installs Python packages on each node before the job starts; nil for none. Without access to
	// a package index it only fails after minutes (ray#26332): large packages belong in the image.
	Pip *Pip `json:"pip,omitempty"`
	// SetupHook is a function, as "module.function", that each worker process calls before any code
	// of the job. The driver does not.
	SetupHook string `json:"worker_process_setup_hook,omitempty"`
	// EnvVars are set in the driver, tasks and Train workers. Anyone who may read a job can see them:
	// no secrets.
	EnvVars map[string]string `json:"env_vars,omitempty"`
}

// Pip is what `pip install` gets on each node. Ray installs into a virtual environment that also sees the
// packages of the image.
type Pip struct {
	// Packages are lines of a requirements file. Anyone who may read a job can see them.
	Packages []string `json:"packages"`
	// InstallOptions replace Ray's options of `pip install`; nil for Ray's.
	InstallOptions []string `json:"pip_install_options,omitempty"`
}

// HashedPip returns the Pip for lines that all have a hash, which pip then requires; nil for none.
func HashedPip(lines []string) *Pip {
	if len(lines) == 0 {
		return nil
	}
	return &Pip{Packages: lines, InstallOptions: []string{
		"--require-hashes", "--disable-pip-version-check", "--no-cache-dir",
	}}
}

// Submission is a request to run a job. It reserves no resources for the driver, so the driver runs
// on the head, where its log can be read, and a late supervisor holds no GPU (ray#41437).
type Submission struct {
	ID         string            `json:"submission_id"`
	Entrypoint string            `json:"entrypoint"`
	RuntimeEnv RuntimeEnv        `json:"runtime_env"`
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// submissionID is the form that Ray handles correctly: a space or a slash leaves a record behind that
// can be neither stopped nor deleted.
var submissionID = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ValidateID returns an error unless a submission id is safe to send.
func ValidateID(id string) error {
	if !submissionID.MatchString(id) {
		return fmt.Errorf(
			"checking %q: %w: use 1 to 63 of a-z, 0-9 and -, not beginning or ending with -",
			id,
			ErrInvalidID,
		)
	}
	return nil
}

const jobsPath = "/api/jobs/" // without the last slash the list is a 404

// Job returns one job by its submission id; ErrNotFound when there is none.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	if err := ValidateID(id); err != nil {
		return Job{}, err
	}
	var job Job
	if err := c.get(ctx, jobsPath+id, &job); err != nil {
		return Job{}, fmt.Errorf("reading Ray job %q: %w", id, err)
	}
	return job, nil
}

// Jobs returns every job that the head knows. A job that was not submitted through this API has no
// SubmissionID.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	var jobs []Job
	if err := c.get(ctx, jobsPath, &jobs); err != nil {
		return nil, fmt.Errorf("listing Ray jobs: %w", err)
	}
	return jobs, nil
}

// Submit runs a job, at most once: if a job with this id exists, from before or because of a
// request whose response was lost, that job is returned. The caller compares its metadata to find
// out whether it is its own.
func (c *Client) Submit(ctx context.Context, submission Submission) (Job, error) {
	if err := ValidateID(submission.ID); err != nil {
		return Job{}, err
	}
	job, err := c.Job(ctx, submission.ID)
	if !errors.Is(err, ErrNotFound) {
		return job, err
	}
	body, err := json.Marshal(submission)
	if err != nil {
		return Job{}, fmt.Errorf("encoding Ray job %q: %w", submission.ID, err)
	}
	if err := c.post(ctx, submission.ID, body); err != nil {
		return Job{}, fmt.Errorf("submitting Ray job %q: %w", submission.ID, err)
	}
	return c.Job(ctx, submission.ID)
}

// post sends a submission. After a lost response it looks up the job, so that a repeated POST never
// hides a job that runs.
func (c *Client) post(ctx context.Context, id string, body []byte) error {
	delay := firstDelay
	for i := 0; ; i++ {
		_, err := c.do(ctx, http.MethodPost, jobsPath, body)
		if err == nil || alreadyExists(err) {
			return nil
		}
		if !noAgent(err) && !transient(err) {
			return err
		}
		if _, lookupErr := c.Job(ctx, id); lookupErr == nil {
			return nil
		} else if !errors.Is(lookupErr, ErrNotFound) {
			return errors.Join(err, lookupErr)
		}
		if i == retries {
			return err
		}
		if sleepErr := c.sleep(ctx, delay); sleepErr != nil {
			return errors.Join(sleepErr, err)
		}
		delay *= 2
	}
}

// RequestStop stops a job: SIGTERM to the driver's processes, SIGKILL 3 s later. It does not stop a
// PENDING job, even if the head reports success (ray#58353); use StopAndWait.
func (c *Client) RequestStop(ctx context.Context, id string) error {
	if err := ValidateID(id); err != nil {
		return err
	}
	err := c.repeat(ctx, func() error {
		_, err := c.do(ctx, http.MethodPost, jobsPath+id+"/stop", nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("stopping Ray job %q: %w", id, err)
	}
	return nil
}

// DeleteJob removes the record of a job that has ended; a job that is active is ErrStillActive. The log
// files stay, so that another job with the same id would append to them: never use an id again.
func (c *Client) DeleteJob(ctx context.Context, id string) error {
	job, err := c.Job(ctx, id)
	if err != nil {
		return err
	}
	if !job.Status.Final() { // Ray would answer 500
		return fmt.Errorf("deleting Ray job %q: %w: %s", id, ErrStillActive, job.Status)
	}
	err = c.repeat(ctx, func() error {
		_, err := c.do(ctx, http.MethodDelete, jobsPath+id, nil)
		return err
	})
	if err != nil && !errors.Is(err, ErrNotFound) { // a lost reply to a deletion that was done
		return fmt.Errorf("deleting Ray job %q: %w", id, err)
	}
	return nil
}

// stopPoll is the time between two polls of a job that is stopping; the head kills it within 3 s.
const stopPoll = time.Second

// StopAndWait stops a job and waits, at most for timeout, until it is final. The request is repeated,
// because it does nothing to a PENDING job. The last status is returned, with an error when it is not
// final.
func (c *Client) StopAndWait(ctx context.Context, id string, timeout time.Duration) (Job, error) {
	for waited := time.Duration(0); ; waited += stopPoll {
		job, err := c.Job(ctx, id)
		if err != nil || job.Status.Final() {
			return job, err
		}
		if waited >= timeout {
			err := fmt.Errorf("stopping Ray job %q: %w: %s after %s", id, ErrStillActive, job.Status, timeout)
			if job.Status == Pending {
				err = fmt.Errorf("%w: %w", err, ErrStillPending)
			}
			return job, err
		}
		if err := c.RequestStop(ctx, id); err != nil {
			return job, err
		}
		if err := c.sleep(ctx, stopPoll); err != nil {
			return job, fmt.Errorf("waiting for Ray job %q to stop: %w", id, err)
		}
	}
}
