package nodeagent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestProbeCounter(t *testing.T) {
	t.Parallel()
	const yes, no = true, false
	tests := []struct {
		name      string
		kind      probeKind
		probe     corev1.Probe
		in        []bool
		decisions []bool // whether each result decided something
		verdict   bool
	}{
		{"ready at the first success", readinessProbe, corev1.Probe{FailureThreshold: 3}, []bool{no, no, yes}, []bool{no, no, yes}, yes},
		{"a success threshold", readinessProbe, corev1.Probe{SuccessThreshold: 2, FailureThreshold: 3}, []bool{yes, no, yes, yes}, []bool{no, no, no, yes}, yes},
		{"unready after the threshold", readinessProbe, corev1.Probe{FailureThreshold: 2}, []bool{yes, no, yes, no, no}, []bool{yes, no, no, no, yes}, no},
		{"alive without a word", livenessProbe, corev1.Probe{FailureThreshold: 2}, []bool{yes, no, yes, no}, []bool{no, no, no, no}, yes},
		{"dead once", livenessProbe, corev1.Probe{FailureThreshold: 2}, []bool{no, no, no}, []bool{no, yes, no}, no},
		{"never started", startupProbe, corev1.Probe{FailureThreshold: 2}, []bool{no, no}, []bool{no, yes}, no},
		{"thresholds of zero count as one", livenessProbe, corev1.Probe{}, []bool{no}, []bool{yes}, no},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			counter := newProbeCounter(test.kind, &test.probe)
			var decisions []bool
			for _, ok := range test.in {
				decisions = append(decisions, counter.record(ok))
			}
			assert.Equal(t, test.decisions, decisions)
			assert.Equal(t, test.verdict, counter.verdict)
		})
	}
}
