package rayapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// recordedGroups and recordedActors are replies of Ray 2.58.0, shortened.
const (
	recordedGroups = `{"result": true, "msg": "", "data": {"result": {"total": 1, "num_after_truncation": 1,
"num_filtered": 1, "result": [{"placement_group_id": "c3a773bb8eb40332c11d87f2bb8f01000000", "name": "",
"creator_job_id": "01000000", "state": "PENDING", "bundles": [{"bundle_id": {"placement_group_id":
"c3a773bb8eb40332c11d87f2bb8f01000000", "bundle_index": 0}, "unit_resources": {"GPU": 1.0}, "node_id": "",
"label_selector": {}}], "is_detached": false, "stats": {"scheduling_attempt": 14, "scheduling_state":
"NO_RESOURCES"}, "topology_strategy": {}}], "partial_failure_warning": "", "warnings": null}}}`
	recordedActors = `{"result": true, "msg": "", "data": {"result": {"total": 1, "num_after_truncation": 1,
"num_filtered": 1, "result": [{"actor_id": "b6d578594bf7f3e8ab0dd88901000000", "class_name": "A", "state":
"PENDING_CREATION", "job_id": "01000000", "name": "", "node_id": null, "pid": 0, "required_resources":
{"GPU": 3.0, "CPU": 1.0}, "death_cause": null, "placement_group_id": null}], "warnings": null}}}`
)

func TestRequestsThatWait(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "10000", r.URL.Query().Get("limit"), "Ray's default is 100")
		text := map[string]string{
			"/api/v0/placement_groups": recordedGroups, "/api/v0/actors": recordedActors,
		}[r.URL.Path]
		_, err := w.Write([]byte(text))
		assert.NoError(t, err)
	}))
	defer server.Close()
	client := rayapi.New(rayapi.Options{BaseURL: server.URL})
	groups, err := client.PlacementGroups(context.Background())
	require.NoError(t, err)
	assert.Equal(t, []rayapi.PlacementGroup{{
		ID: "c3a773bb8eb40332c11d87f2bb8f01000000", JobID: "01000000", State: rayapi.GroupPending,
		Bundles: []rayapi.Bundle{{Resources: map[string]float64{"GPU": 1}}},
	}}, groups)
	actors, err := client.Actors(context.Background())
	require.NoError(t, err)
	require.Len(t, actors, 1)
	assert.Equal(t, rayapi.ActorPending, actors[0].State)
	assert.InDelta(t, 3, actors[0].Resources["GPU"], 0)
}
