package attempt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	unsettled := &attempt.Record{Number: 1, ProofHash: "wanted"}
	settled := &attempt.Record{Number: 1, ProofHash: "wanted", Settled: true}
	other := &attempt.Record{Number: 1, ProofHash: "other"}
	otherSettled := &attempt.Record{Number: 1, ProofHash: "other", Settled: true}
	tests := []struct {
		name   string
		record *attempt.Record
		job    attempt.Job
		want   attempt.Action
	}{
		{"nothing was ever run", nil, attempt.Absent, attempt.Submit},
		{"killed while the job waits or runs", unsettled, attempt.Active, attempt.Adopt},
		{"killed, and the job ended since", unsettled, attempt.Ended, attempt.Adopt},
		{"killed before the POST, or the head restarted", unsettled, attempt.Absent, attempt.Submit},
		{"somebody else took the id", unsettled, attempt.Foreign, attempt.Submit},
		{"yesterday's success", settled, attempt.Ended, attempt.Submit},
		{"judged, and the head restarted", settled, attempt.Absent, attempt.Submit},
		{"given up, yet it still runs", settled, attempt.Active, attempt.StopThenSubmit},
		{"settled, foreign", settled, attempt.Foreign, attempt.Submit},
		{"another proof is wanted while the old job runs", other, attempt.Active, attempt.StopThenSubmit},
		{"another proof is wanted, the old job ended unjudged", other, attempt.Ended, attempt.Submit},
		{"another proof is wanted, the old job is gone", other, attempt.Absent, attempt.Submit},
		{"another proof is wanted, the id is foreign", other, attempt.Foreign, attempt.Submit},
		{"another proof was judged", otherSettled, attempt.Ended, attempt.Submit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, attempt.Decide(test.record, test.job, attempt.Proof{Hash: "wanted"}))
		})
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	record := attempt.Record{Nonce: "n"}
	job := func(nonce string, status rayapi.JobStatus) *rayapi.Job {
		return &rayapi.Job{Status: status, Metadata: map[string]string{attempt.MetadataNonce: nonce}}
	}
	assert.Equal(t, attempt.Absent, attempt.Classify(record, nil))
	assert.Equal(t, attempt.Foreign, attempt.Classify(record, job("other", rayapi.Running)))
	assert.Equal(t, attempt.Foreign, attempt.Classify(record, &rayapi.Job{Status: rayapi.Succeeded}))
	for _, status := range []rayapi.JobStatus{rayapi.Pending, rayapi.Running} {
		assert.Equal(t, attempt.Active, attempt.Classify(record, job("n", status)))
	}
	for _, status := range []rayapi.JobStatus{rayapi.Succeeded, rayapi.Failed, rayapi.Stopped} {
		assert.Equal(t, attempt.Ended, attempt.Classify(record, job("n", status)))
	}
}

func TestNextNeverUsesAnIDTwice(t *testing.T) {
	t.Parallel()
	first := attempt.Next(nil, 0, "i", "train", "0123456789abcdef")
	assert.Equal(t, "train-01234567-a1", first.SubmissionID)
	assert.Equal(t, 2, attempt.Next(&first, 0, "i", "train", "x").Number)
	assert.Equal(t, 5, attempt.Next(&first, 4, "i", "train", "x").Number, "the state knows more than the record")
	assert.Equal(t, 5, attempt.Next(nil, 4, "i", "train", "x").Number, "the record was removed")
	second := attempt.Next(&first, 0, "i", "train", first.ProofHash)
	assert.NotEqual(t, first.Nonce, second.Nonce)
	assert.False(t, second.Settled)
}

func TestNamesMakeValidIDs(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", 47)
	require.NoError(t, attempt.ValidateName(longest))
	require.NoError(t, rayapi.ValidateID(attempt.SubmissionID(longest, "0123456789", 99999)))
	for _, name := range []string{"", "Train", "a_b", "1a", "a-", longest + "a"} {
		require.ErrorIs(t, attempt.ValidateName(name), attempt.ErrInvalidName, "%q", name)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	store := attempt.NewStore(client, "ray", "train")
	record, err := store.Load(t.Context())
	require.NoError(t, err)
	assert.Nil(t, record)

	want := attempt.Record{Instance: "i", Number: 3, Nonce: "n", ProofHash: "h", SubmissionID: "s", Session: "x"}
	require.NoError(t, store.Save(t.Context(), want))
	record, err = attempt.NewStore(client, "ray", "train").Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, &want, record)

	// One who saw no record may not overwrite it.
	late := attempt.NewStore(client, "ray", "train")
	require.ErrorIs(t, late.Save(t.Context(), want), attempt.ErrConcurrent)
}

func TestStoreReportsAChangeByAnother(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	store := attempt.NewStore(client, "ray", "train")
	require.NoError(t, store.Save(t.Context(), attempt.Record{Number: 1}))
	client.PrependReactor("update", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(corev1.Resource("configmaps"), "raytrain-train", nil)
	})
	err := store.Save(t.Context(), attempt.Record{Number: 2})
	require.ErrorIs(t, err, attempt.ErrConcurrent)
}
