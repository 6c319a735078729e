package preflight_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/jobs"
	"github.com/ray-train-efa/ray-train-efa/provider/preflight"
)

const spec = `{"headGroupSpec":{"template":{"metadata":{"annotations":{"mark":"h1"}}}},
"workerGroupSpecs":[{"groupName":"gpu","template":{"metadata":{"annotations":{"mark":"w1"}}}},{"groupName":"plain"}]}`

func TestReadTemplates(t *testing.T) {
	t.Parallel()
	assert.Equal(t, preflight.Templates{"headgroup": {"mark": "h1"}, "gpu": {"mark": "w1"}, "plain": nil}, preflight.ReadTemplates(spec))
	assert.Nil(t, preflight.ReadTemplates("0a1b2c"), "a hash tells nothing")
}

func TestPodsSeen(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	facts := preflight.Facts{
		Nodes: []preflight.Node{{Name: "n1", GPUs: 4, EFA: 1}},
		Pods: []preflight.Pod{
			{Name: "head", Head: true, Annotations: map[string]string{"mark": "h1", "other": "x"}, ImageID: "repo@sha256:aa"},
			{Name: "old", Group: "gpu", Annotations: map[string]string{"mark": "w0"}},
			{Name: "unmarked", Group: "gpu"},
			{Name: "plain", Group: "plain"},
		},
	}
	seen := preflight.PodsSeen(facts, preflight.Wanted{Templates: preflight.ReadTemplates(spec)})
	require.Len(t, seen, 4)
	assert.Equal(t, jobs.Pod{Name: "head", Head: true, ImageDigest: "sha256:aa", Current: &yes, FIInfo: jobs.FIInfoUnknown}, seen[0])
	for i, want := range []*bool{&yes, &no, &no, nil} {
		assert.Equal(t, want, seen[i].Current, seen[i].Name)
	}
	assert.Equal(t, []jobs.Node{{Name: "n1", GPUs: 4, EFA: 1}}, preflight.NodesSeen(facts))
}
