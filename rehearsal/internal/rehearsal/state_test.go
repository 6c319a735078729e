package rehearsal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

const exportedRed = `{"version":3,"deployment":{"resources":[
 {"urn":"urn:pulumi:rehearsal::ray-train-efa::aws:ec2/vpc:Vpc::vpc","type":"aws:ec2/vpc:Vpc","outputs":{"id":"vpc-1"}},
 {"urn":"urn:pulumi:rehearsal::ray-train-efa::aws:eks/cluster:Cluster::c","type":"aws:eks/cluster:Cluster","outputs":{"name":"train"}},
 {"urn":"urn:pulumi:rehearsal::ray-train-efa::raytrain:index:TrainingJob::gate","type":"raytrain:index:TrainingJob",
  "outputs":{"verdict":"not-efa","hourlyUsd":9.5548,"attempt":1,
   "findings":[{"code":"plugin-not-found","severity":"error","rank":null,"file":"rank0.log","line":3,"text":"t","cause":"c","next":"n"}],
   "ranks":[{"rank":0,"host":"w0","network":"Socket","provider":"","channels":{"NET/Socket":2,"SHM":4}}]}}]}}`

func TestReadState(t *testing.T) {
	t.Parallel()
	state, err := readState([]byte(exportedRed))
	require.NoError(t, err)
	assert.Equal(t, 3, state.Resources)
	assert.Equal(t, "train", state.Cluster)
	assert.Equal(t, "not-efa", state.Verdict())
	assert.Equal(t, "plugin-not-found", state.Job.Findings[0].Code)
	assert.Equal(t, "NET/Socket 2, SHM 4", transports(state.Job.Ranks[0].Channels))

	empty, err := readState([]byte(`{"deployment":{"resources":[]}}`))
	require.NoError(t, err)
	assert.Empty(t, empty.Cluster)
	assert.Equal(t, "none", empty.Verdict(), "a stack without a job must never show an old verdict")

	_, err = readState([]byte(`{`))
	require.ErrorContains(t, err, "decoding the exported stack")
}

func TestPrepareDirTouchesNoForeignFolder(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o600))
	require.ErrorIs(t, prepareDir(foreign), ErrNotARehearsal)
	require.ErrorIs(t, CheckDir(foreign), ErrNotARehearsal)

	own := filepath.Join(t.TempDir(), "new")
	require.NoError(t, prepareDir(own))
	require.NoError(t, prepareDir(own), "a second step opens the same folder")
	require.NoError(t, CheckDir(own))
}

func TestRemainsLeavesOutWhatNeitherBillsNorBlocks(t *testing.T) {
	t.Parallel()
	lines := remains(api.Inventory{Items: []api.Item{
		{Type: "aws:ec2/natGateway:NatGateway", ID: "nat-1", Bills: true, HourlyUSD: 0.045},
		{Type: "aws:kms/key:Key", ID: "k", Note: "pending deletion"},
	}})
	assert.Equal(t, []string{"aws:ec2/natGateway:NatGateway nat-1, billing $0.0450/h"}, lines)
}
