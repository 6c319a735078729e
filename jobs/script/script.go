// Package script prepares a user's own script as a Ray job that leaves evidence: it packs the
// working directory, and makes every worker process write NCCL's output to a file that the gate
// can read. The script needs no change.
package script

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Hook is the function that Ray calls in each worker process, for
// runtime_env.worker_process_setup_hook. Its module is in HookZip, for runtime_env.py_modules.
const Hook = "raytrain_evidence.setup"

//go:embed raytrain_evidence.py
var hook []byte

// HookZip returns the zip with the module of Hook.
func HookZip() ([]byte, error) {
	return pack([]member{{name: "raytrain_evidence.py", mode: plainMode, text: hook}})
}

// Identity is what a job's files say about the run that they belong to.
type Identity struct {
	// SubmissionID is the job's, and the name of the folder of its files.
	SubmissionID string
	// Nonce is a random text, new for each run.
	Nonce string
}

// Environment returns the job's environment variables: the user's, and those that the evidence
// needs. It returns an error that wraps ErrEnvironment if the user's ones would prevent evidence.
func Environment(id Identity, own map[string]string) (map[string]string, error) {
	if err := CheckEnvironment(own); err != nil {
		return nil, err
	}
	environment := map[string]string{
		"RAYTRAIN_SUBMISSION_ID": id.SubmissionID,
		"RAYTRAIN_NONCE":         id.Nonce,
		"NCCL_DEBUG":             "INFO",
		// By default Ray shows equal lines of several ranks once, and colors them.
		"RAY_DEDUP_LOGS":   "0",
		"RAY_COLOR_PREFIX": "0",
	}
	maps.Copy(environment, own)
	// The hook sets NCCL_DEBUG again, because a pod's own value would remain otherwise.
	environment["RAYTRAIN_NCCL_DEBUG"] = environment["NCCL_DEBUG"]
	return environment, nil
}

// Entrypoint returns the command of a job that ends by itself, with exit status 124, when it runs
// longer than the limit: if what submitted it is gone, it must not hold GPUs forever. 0 means no
// limit. It needs timeout(1), which is part of GNU coreutils.
func Entrypoint(command string, limit time.Duration) string {
	if limit <= 0 {
		return command
	}
	return fmt.Sprintf("timeout --kill-after=30 %d sh -c '%s'",
		int(limit.Seconds()), strings.ReplaceAll(command, "'", `'\''`))
}

// secretWords are the words of names of secrets, such as AWS_SECRET_ACCESS_KEY.
var secretWords = regexp.MustCompile(
	`(?i)(^|_)(SECRET|PASSWORD|PASSWD|TOKEN|CREDENTIALS?|APIKEY|(API|ACCESS|PRIVATE|AUTH)_KEY)(_|$)`)

// secretName reports whether a variable of this name holds a secret. The path of a file is none.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	return secretWords.MatchString(name) &&
		!strings.HasSuffix(upper, "_FILE") && !strings.HasSuffix(upper, "_PATH")
}

// ErrEnvironment is wrapped by the errors of CheckEnvironment.
var ErrEnvironment = errors.New("this variable is not allowed")

// CheckEnvironment returns an error that names every variable that would hide evidence, or that is
// reserved.
func CheckEnvironment(own map[string]string) error {
	var problems []error
	// Without the value, which may be a token.
	refuse := func(name, reason string) {
		problems = append(problems, fmt.Errorf("environment variable %q: %w: %s", name, ErrEnvironment, reason))
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		switch {
		case name == "" || strings.ContainsAny(name, "= \n"):
			refuse(name, "a name has no space and no =")
		case strings.HasPrefix(name, "RAYTRAIN_") || strings.HasPrefix(name, "RAY_AUTH_"):
			refuse(name, "names with RAYTRAIN_ and RAY_AUTH_ are reserved")
		case secretName(name) || hasPassword(own[name]):
			refuse(name, "it looks like a secret, and Ray shows a job's variables to everyone who can read jobs; "+
				"next: put it into a Kubernetes Secret and the Secret into the pods (envFrom): "+
				"the ranks have the variables of their pod")
		case name == "NCCL_DEBUG_SUBSYS":
			refuse(name, "it hides lines that the verdict needs")
		case name == "NCCL_DEBUG_FILE":
			refuse(name, "NCCL's output must go to the files that are judged")
		// NCCL ignores the case of the level.
		case name == "NCCL_DEBUG" && !slices.Contains([]string{"INFO", "TRACE"}, strings.ToUpper(own[name])):
			refuse(name, fmt.Sprintf("%q hides lines that the verdict needs; allowed: INFO or TRACE", own[name]))
		}
	}
	return errors.Join(problems...)
}
