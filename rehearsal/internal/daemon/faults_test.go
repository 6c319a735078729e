package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/client"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/disturb"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

func TestADisturbanceReachesNodesAndConnections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := filepath.Join(dir, "clusters", "train", "nodes", "n1")
	require.NoError(t, os.MkdirAll(node, 0o700))
	d := &daemon{runtime: &runtime{config: Config{Dir: dir}, disturber: disturb.New()}}
	mux := http.NewServeMux()
	d.handleFaults(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	c := &Client{control: client.New(server.URL)}

	require.NoError(t, c.Disturb(t.Context(), Disturbance{
		Defect: standin.Hang, Plan: disturb.Plan{Hold: disturb.Ended},
	}))
	defect, err := os.ReadFile(filepath.Join(node, "defect"))
	require.NoError(t, err)
	assert.Equal(t, "hang", string(defect))
	assert.Equal(t, standin.Hang, d.runtime.currentDefect(), "later nodes show it too")
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, c.Held(short), "no request is held yet")
	require.NoError(t, c.Release(t.Context()))

	require.NoError(t, c.Disturb(t.Context(), Disturbance{}))
	assert.NoFileExists(t, filepath.Join(node, "defect"))
	require.ErrorContains(t, c.FreezeAPIServer(t.Context(), "none", time.Second), `"none"`)
	require.ErrorContains(t, c.RestartNode(t.Context(), "none", "n1", time.Second), `"none"`)
}
