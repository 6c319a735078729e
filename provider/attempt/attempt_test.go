package attempt_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		job    attempt.JobState
		want   attempt.Action
	}{
		{"nothing was ever run", nil, attempt.Absent, attempt.Submit},
		{"killed while the job waits or runs", unsettled, attempt.Active, attempt.Adopt},
		{"killed, and the job ended since", unsettled, attempt.Ended, attempt.Adopt},
		{"killed before the POST, or the head restarted", unsettled, attempt.Absent, attempt.Submit},
		{"another client uses the id", unsettled, attempt.Foreign, attempt.Submit},
		{"yesterday's success", settled, attempt.Ended, attempt.Submit},
		{"judged, and the head restarted", settled, attempt.Absent, attempt.Submit},
		{"given up, yet it still runs", settled, attempt.Active, attempt.StopThenSubmit},
		{"settled, foreign", settled, attempt.Foreign, attempt.Submit},
		{"another proof is wanted while the old job runs", other, attempt.Active, attempt.StopThenSubmit},
		{"another proof is wanted, the old job ended unjudged", other, attempt.Ended, attempt.Submit},
		{"another proof is wanted, the old job is gone", other, attempt.Absent, attempt.Submit},
		{"another proof is wanted, the id is foreign", other, attempt.Foreign, attempt.Submit},
		{"another proof was judged", otherSettled, attempt.Ended, attempt.Submit},
		{"the head restarted", unsettled, attempt.Lost, attempt.Submit},
		{"judged, the head restarted", settled, attempt.Lost, attempt.Submit},
		{"it runs in another session", unsettled, attempt.Moved, attempt.StopThenSubmit},
		{"another proof, running in another session", other, attempt.Moved, attempt.StopThenSubmit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			action, err := attempt.Decide(test.record, test.job, attempt.Proof{Hash: "wanted"})
			require.NoError(t, err)
			assert.Equal(t, test.want, action)
		})
	}
}

// A combination without a row submits nothing.
func TestDecideFailsClosed(t *testing.T) {
	t.Parallel()
	records := []*attempt.Record{
		nil, {ProofHash: "wanted"}, {ProofHash: "other"}, {ProofHash: "wanted", Settled: true},
	}
	states := []attempt.JobState{
		attempt.Absent, attempt.Lost, attempt.Foreign, attempt.Active, attempt.Moved, attempt.Ended,
	}
	for _, record := range records {
		for _, job := range append(states, "unheard-of", "") {
			action, err := attempt.Decide(record, job, attempt.Proof{Hash: "wanted"})
			known := slices.Contains(states, job) && (record != nil || job == attempt.Absent)
			if known {
				require.NoError(t, err, "%v %s", record, job)
				continue
			}
			require.ErrorIs(t, err, attempt.ErrUndecided, "%v %s", record, job)
			assert.Empty(t, action)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	record := attempt.Record{Nonce: "n", Session: "s"}
	job := func(nonce string, status rayapi.JobStatus) *rayapi.Job {
		return &rayapi.Job{Status: status, Metadata: map[string]string{attempt.MetadataNonce: nonce}}
	}
	assert.Equal(t, attempt.Absent, attempt.Classify(record, nil, "s"))
	assert.Equal(t, attempt.Foreign, attempt.Classify(record, job("other", rayapi.Running), "s"))
	assert.Equal(t, attempt.Foreign, attempt.Classify(record, &rayapi.Job{Status: rayapi.Succeeded}, "s"))
	for _, status := range []rayapi.JobStatus{rayapi.Pending, rayapi.Running} {
		assert.Equal(t, attempt.Active, attempt.Classify(record, job("n", status), "s"))
	}
	for _, status := range []rayapi.JobStatus{rayapi.Succeeded, rayapi.Failed, rayapi.Stopped} {
		assert.Equal(t, attempt.Ended, attempt.Classify(record, job("n", status), "s"))
	}
}

func TestClassifyComparesTheSession(t *testing.T) {
	t.Parallel()
	record := attempt.Record{Nonce: "n", Session: "s"}
	job := func(status rayapi.JobStatus) *rayapi.Job {
		return &rayapi.Job{Status: status, Metadata: map[string]string{attempt.MetadataNonce: "n"}}
	}
	assert.Equal(t, attempt.Lost, attempt.Classify(record, nil, "another"))
	assert.Equal(t, attempt.Lost, attempt.Classify(record, job(rayapi.Succeeded), "another"))
	assert.Equal(t, attempt.Moved, attempt.Classify(record, job(rayapi.Running), "another"))
	record.Session = "" // nothing was recorded yet
	assert.Equal(t, attempt.Absent, attempt.Classify(record, nil, "another"))
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

// A write whose reply is lost has happened: it is found by reading again.
func TestSettle(t *testing.T) {
	t.Parallel()
	mine := attempt.Record{Number: 1, Nonce: "n"}
	tests := []struct {
		name string
		// stored is what the cluster has when the write fails; nil leaves it alone.
		stored *attempt.Record
		want   error
	}{
		{"the reply was lost", &attempt.Record{Number: 1, Nonce: "n", Settled: true}, nil},
		{"it changed, and is not settled", &attempt.Record{Number: 1, Nonce: "n", Session: "s"}, nil},
		{"another attempt began", &attempt.Record{Number: 2, Nonce: "m"}, attempt.ErrConcurrent},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			store := attempt.NewStore(client, "ray", "train")
			require.NoError(t, store.Save(t.Context(), mine))
			failed := false
			client.PrependReactor("update", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
				if failed {
					return false, nil, nil
				}
				failed = true
				text, err := json.Marshal(test.stored)
				require.NoError(t, err)
				object := &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: "raytrain-train", Namespace: "ray"},
					Data:       map[string]string{"record.json": string(text)},
				}
				require.NoError(t, client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), object, "ray"))
				return true, nil, apierrors.NewInternalError(errors.New("no reply"))
			})
			err := store.Settle(t.Context(), mine)
			require.ErrorIs(t, err, test.want)
			record, err := store.Load(t.Context())
			require.NoError(t, err)
			assert.Equal(t, test.want == nil, record.Settled)
		})
	}
}
