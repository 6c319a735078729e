package daemon

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStopIsAnsweredBeforeTheServerEnds ends the server as early as possible: the client must get
// its response all the same.
func TestStopIsAnsweredBeforeTheServerEnds(t *testing.T) {
	t.Parallel()
	d := &daemon{}
	server := httptest.NewUnstartedServer(d.control())
	d.stop = func() { assert.NoError(t, server.Config.Close()) }
	server.Start()
	t.Cleanup(server.Close)
	answer, err := http.Post(server.URL+"/stop", "application/json", http.NoBody)
	require.NoError(t, err)
	assert.Equal(t, http.StatusAccepted, answer.StatusCode)
	require.NoError(t, answer.Body.Close())
}

func TestReadEndpointSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none, err := ReadEndpoint(dir)
	require.NoError(t, err)
	assert.Zero(t, none)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "endpoint.json"), []byte(`{"aws":`), 0o600))
	_, err = ReadEndpoint(dir)
	require.ErrorContains(t, err, "endpoint.json")
	require.ErrorContains(t, err, "remove the file")
}
