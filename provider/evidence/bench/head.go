package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

const (
	// jobID and nonce identify the job whose files the head serves.
	jobID = "train-bench-a1"
	nonce = "5eed"
	// gpus is the number of ranks on each node.
	gpus = 8
)

// head is a Ray head whose nodes have the files of one job on EFA.
type head struct {
	listing *raytest.Server
	server  *httptest.Server
	// logs holds the beginning of each log by its path; training is what follows in all of them.
	logs     map[string][]byte
	training []byte
	// size is the length of a log.
	size int
}

// newHead returns a head with a number of worker nodes, whose ranks left logs of size bytes.
func newHead(nodes, size int) (*head, error) {
	h := &head{listing: raytest.New(), logs: map[string][]byte{}, size: size}
	h.server = httptest.NewServer(h)
	for i := range nodes {
		h.listing.Nodes = append(h.listing.Nodes, rayapi.Node{ID: nodeID(i), State: rayapi.Alive})
	}
	files, _ := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: nodes, GPUs: gpus, Channels: 4, Trees: true, Fabric: synth.OnEFA, Hosts: synth.Distinct,
		Layout: synth.PerProcess, Groups: synth.World, Launcher: synth.Plain, Stamp: synth.NoStamp,
		Text: synth.Clean, Pin: "Libfabric",
	}.Generate()
	for _, file := range files {
		var rank int
		if _, err := fmt.Sscanf(file.Name, "rank%d.", &rank); err != nil {
			return nil, fmt.Errorf("naming the rank of %q: %w", file.Name, err)
		}
		manifest, err := json.Marshal(evidence.Manifest{
			Rank: rank, WorldSize: nodes * gpus, Node: nodeID(rank / gpus),
			Nonce: nonce, SubmissionID: jobID, NCCLFile: file.Name,
		})
		if err != nil {
			return nil, fmt.Errorf("writing the manifest of rank %d: %w", rank, err)
		}
		folder := path.Join("raytrain", jobID)
		h.listing.AddFile(nodeID(rank/gpus), path.Join(folder, fmt.Sprintf("rank%d.json", rank)), manifest)
		h.listing.AddFile(nodeID(rank/gpus), path.Join(folder, file.Name), nil)
		h.logs[path.Join(folder, file.Name)] = file.Data
	}
	for step := 0; len(h.training) < size; step++ {
		h.training = fmt.Appendf(h.training, "step %d loss 2.1234 tokens/s 9000 mfu 0.31\n", step)
	}
	return h, nil
}

func nodeID(i int) string { return fmt.Sprintf("%056x", i+1) }

func (h *head) close() {
	h.server.Close()
	h.listing.Close()
}

// ServeHTTP serves the logs, and leaves the rest to the test server.
func (h *head) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin, isLog := h.logs[r.URL.Query().Get("filename")]
	if r.URL.Path != "/api/v0/logs/file" || !isLog {
		h.listing.ServeHTTP(w, r)
		return
	}
	rest := h.training[:max(0, h.size-len(begin))]
	whole := bytes.LastIndexByte(rest, '\n') + 1
	for _, text := range [][]byte{begin, rest[:whole]} {
		if _, err := w.Write(text); err != nil {
			return // the client is gone
		}
	}
}
