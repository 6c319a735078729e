package gate_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// TestWhatTheLastCollectionFinds lets a run on EFA succeed after its files were
// copied once, and then something happen.
func TestWhatTheLastCollectionFinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		happens func(*world)
		verdict string
	}{
		{"all files", func(*world) {}, "efa"},
		{"a node less", func(w *world) { w.ray.Nodes[2].State = "DEAD" }, "inconclusive"},
		{"an agent that is busy for a moment", func(w *world) {
			answers := 0
			w.ray.Fail = func(r *http.Request) (int, string) {
				if r.URL.Path == "/api/v0/logs" && answers == 0 {
					answers++
					return http.StatusInternalServerError, "DataSourceUnavailable"
				}
				return 0, ""
			}
		}, "efa"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.script = func(*rayapi.Job) {}
			sleeps := 0
			w.onSleep = func() {
				if sleeps++; sleeps == 20 { // after the first copy
					w.waitForCopies()
					w.ray.Lock()
					defer w.ray.Unlock()
					test.happens(w)
					for _, job := range w.ray.Jobs {
						job.Status = rayapi.Succeeded
					}
				}
			}
			err := w.up()
			assert.Equal(t, test.verdict, w.text("verdict"))
			if test.verdict == "efa" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "cause:")
			assert.Contains(t, codes(w), "evidence-incomplete")
		})
	}
}
