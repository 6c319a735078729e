package rehearsal

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ray-train-efa/ray-train-efa/provider/attempt"
)

func TestTheRecordBelongsToTheState(t *testing.T) {
	t.Parallel()
	judged := Job{Verdict: "efa", Attempt: 3, SubmissionID: "gate-a3"}
	refused := Job{Verdict: VerdictNone, Attempt: 3}
	record := attempt.Record{Number: 3, SubmissionID: "gate-a3", Settled: true}
	for _, test := range []struct {
		name   string
		job    Job
		record *attempt.Record
		want   []string
	}{
		{"judged", judged, &record, nil},
		{"refused by the preflight", refused, &record, nil},
		{"never submitted", Job{Verdict: VerdictNone}, nil, nil},
		{"no record", judged, nil, []string{"attempt 3 has no record"}},
		{"another attempt", judged, &attempt.Record{Number: 4},
			[]string{"the state has attempt 3, the record 4"}},
		{"another job", judged, &attempt.Record{Number: 3, SubmissionID: "x", Settled: true},
			[]string{`the state has job "gate-a3", the record "x"`}},
		{"not settled", judged, &attempt.Record{Number: 3, SubmissionID: "gate-a3"},
			[]string{"attempt 3 is judged but not settled"}},
	} {
		assert.Equal(t, test.want, recordProblems(&test.job, test.record), test.name)
	}
}

func TestPodsAreNewAndReady(t *testing.T) {
	t.Parallel()
	pod := func(uid string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: ready}}}}
	}
	old := map[types.UID]bool{"a": true}
	assert.True(t, allNewAndReady([]corev1.Pod{pod("b", corev1.ConditionTrue)}, old))
	assert.False(t, allNewAndReady([]corev1.Pod{pod("a", corev1.ConditionTrue)}, old))
	assert.False(t, allNewAndReady([]corev1.Pod{pod("b", corev1.ConditionFalse)}, old))
}
