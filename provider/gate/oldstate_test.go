package gate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// recorded is a world in which the release that hashed Go structs left its state and record.
// testdata/states holds what its provider returned for the fixture's inputs.
func recorded(t *testing.T, name string, change func(record map[string]any)) *world {
	t.Helper()
	w := newWorld(t)
	code, err := train.Zip()
	require.NoError(t, err)
	w.env.Code = code
	w.start()
	text, err := os.ReadFile(filepath.Join("testdata", "states", name+".json"))
	require.NoError(t, err)
	evidence, err := json.Marshal(w.evidence)
	require.NoError(t, err)
	text = []byte(strings.ReplaceAll(string(text), "EVIDENCE", strings.Trim(string(evidence), `"`)))
	var old struct {
		ID     string          `json:"id"`
		Record map[string]any  `json:"record"`
		State  json.RawMessage `json:"state"`
	}
	require.NoError(t, json.Unmarshal(text, &old))
	var state structpb.Struct
	require.NoError(t, protojson.Unmarshal(old.State, &state))
	properties, err := plugin.UnmarshalProperties(&state, plugin.MarshalOptions{KeepSecrets: true})
	require.NoError(t, err)
	w.id, w.state = old.ID, resource.FromResourcePropertyMap(properties)
	if change != nil {
		change(old.Record)
	}
	record, err := json.Marshal(old.Record)
	require.NoError(t, err)
	_, err = w.kube.CoreV1().ConfigMaps("ray").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "raytrain-train", Namespace: "ray"},
		Data:       map[string]string{"record.json": string(record)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return w
}

func TestGreenStateOfTheReleaseBeforeNeedsNoNewJob(t *testing.T) {
	t.Parallel()
	w := recorded(t, "green", nil)
	assert.False(t, w.hasChanges(), "nothing that matters changed")
	require.NoError(t, w.refresh())
	assert.False(t, w.hasChanges())

	w.inputs["deadlineSeconds"] = property.New(400.0)
	require.NoError(t, w.up())
	w.inputs["kubeconfig"] = property.New(kubeconfig + " ").WithSecret(true)
	require.NoError(t, w.up(), "the record is found to be that of the state")
	assert.Zero(t, w.submitted())
	assert.False(t, w.hasChanges())
	require.NoError(t, w.destroy())
}

func TestGreenStateOfTheReleaseBeforeWithOtherValuesRunsOneJob(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"another input": func(w *world) { w.inputs["amiRelease"] = property.New("1.36-2") },
		"other code": func(w *world) {
			w.env.Code = []byte("other")
			w.start()
		},
		"an expectation that had another name": func(w *world) {
			w.inputs["expectations"] = property.New(w.inputs["expectations"].AsMap().Set("requireFiInfo", property.New(true)))
			w.exec = func(string) string { return withEFA }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := recorded(t, "green", nil)
			change(w)
			assert.True(t, w.hasChanges())
			require.NoError(t, w.up())
			assert.Equal(t, 1, w.submitted())
			assert.True(t, strings.HasSuffix(w.text("submissionId"), "-a2"))
			assert.False(t, w.hasChanges())
		})
	}
}

func TestRedStateOfTheReleaseBeforeStaysRed(t *testing.T) {
	t.Parallel()
	w := recorded(t, "red", nil)
	err := w.refresh()
	require.ErrorContains(t, err, "refused: verdict not-efa", "the text of the old refusal is kept")
	require.ErrorContains(t, err, "$9.55 per hour")
	assert.Equal(t, "refused-by-earlier-release", w.state.Get("refusal").AsMap().Get("code").AsString())
	assert.True(t, w.hasChanges())
	require.NoError(t, w.up())
	assert.Equal(t, 1, w.submitted())
	require.NoError(t, w.destroy())
}

func TestRedStateOfTheReleaseBeforeCanBeDestroyed(t *testing.T) {
	t.Parallel()
	require.NoError(t, recorded(t, "red", nil).destroy())
}

// An update of the release before was killed while its job ran: the job proves what is required now,
// so it is adopted. One for other values is stopped.
func TestUnsettledAttemptOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	unsettled := func(record map[string]any) { record["settled"] = false }
	for _, test := range []struct {
		name  string
		ami   string
		want  int
		state rayapi.JobStatus
	}{
		{"the same values: adopted", "1.36-1", 0, rayapi.Succeeded},
		{"other values: stopped", "1.36-2", 1, rayapi.Stopped},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := recorded(t, "green", unsettled)
			id, ok := w.record()["submissionId"].(string)
			require.True(t, ok)
			nonce, ok := w.record()["nonce"].(string)
			require.True(t, ok)
			w.state = property.Map{}
			w.id = ""
			job := &rayapi.Job{SubmissionID: id, Status: rayapi.Running, Metadata: map[string]string{"raytrain-nonce": nonce}}
			w.ray.Jobs[id] = job
			w.runJob(job, rayapi.Submission{RuntimeEnv: rayapi.RuntimeEnv{EnvVars: map[string]string{
				"RAYTRAIN_NONCE": nonce, "RAYTRAIN_SUBMISSION_ID": id,
			}}})
			if test.want > 0 {
				job.Status = rayapi.Running
			}
			w.inputs["amiRelease"] = property.New(test.ami)
			require.NoError(t, w.up())
			assert.Equal(t, test.want, w.submitted())
			assert.Equal(t, test.state, job.Status)
			assert.Equal(t, w.text("proofHash"), w.record()["proofHash"], "the record has the present hash")
			assert.False(t, w.hasChanges())
		})
	}
}
