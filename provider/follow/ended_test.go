package follow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func TestRayFailure(t *testing.T) {
	t.Parallel()
	trace := "Traceback (most recent call last):\n" + strings.Repeat("  File \"agent.py\", line 1, in f\n", 100)
	tests := []struct {
		name, errorType, message string
		text, cause              string
	}{
		{"a sentence", "JOB_SUPERVISOR_ACTOR_DIED", "the supervisor\n died", "the supervisor died", "before its command exited"},
		{"a traceback", "JOB_SUPERVISOR_ACTOR_START_FAILURE", "Unexpected error: " + trace + "ValueError: not a valid URI\n",
			"Unexpected error: ... ", "before its command exited"},
		{"pip", rayapi.RuntimeEnvFailed, "runtime_env setup failed: " + trace + "Last 50 lines of stdout:\n" +
			"  ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n einops from x:\n",
			"THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. einops", "could not install"},
	}
	for _, test := range tests {
		job := rayapi.Job{Status: rayapi.Failed, ErrorType: test.errorType, Message: test.message}
		found := follow.Outcome{Job: job}.RayFailure("pulumi up")
		require.Len(t, found, 1, test.name)
		assert.True(t, strings.HasPrefix(found[0].Text, test.text), "%s: %s", test.name, found[0].Text)
		assert.Contains(t, found[0].Cause, test.cause)
		assert.Contains(t, found[0].Next, "then pulumi up")
		assert.Less(t, len(found[0].Text), 700)
		if test.name == "a traceback" {
			assert.True(t, strings.HasSuffix(found[0].Text, "ValueError: not a valid URI"), found[0].Text)
		}
	}
	exit := 1
	for name, job := range map[string]rayapi.Job{
		"the command failed": {Status: rayapi.Failed, ExitCode: &exit, Message: "exit code 1"},
		"it was stopped":     {Status: rayapi.Stopped, Message: "stopped"},
		"it succeeded":       {Status: rayapi.Succeeded, Message: "done"},
	} {
		assert.Empty(t, follow.Outcome{Job: job}.RayFailure("pulumi up"), name)
	}
}
