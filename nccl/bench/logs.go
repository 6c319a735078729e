package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
)

// gpus is the number of ranks on each node of a benchmark's job.
const gpus = 8

// job returns a complete run on EFA with the pinned image's versions.
func job(nodes int) synth.Run {
	return synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: nodes, GPUs: gpus, Channels: 16, Trees: true, Hosts: synth.Distinct, Groups: synth.Split,
		Launcher: synth.Plain, Stamp: synth.NoStamp, Layout: synth.Merged, Text: synth.Clean,
		Fabric: synth.OnEFA, Damage: synth.Whole, Expect: synth.Nothing,
	}
}

// shape is one kind of large log: how many nodes set up, and what follows the set-up.
type shape struct {
	name  string
	nodes int
	line  func(b []byte, rng *rand.Rand, ranks, step int) []byte
}

// shapes lists the large logs. All are judged efa.
func shapes() []shape {
	return []shape{
		{"sparse: training text", 8, appendTraining},
		{"dense: every line NCCL's, calls of collectives", 8, appendCall},
		{"dense: every line NCCL's, channels", 8, appendChannel},
	}
}

// writeLog writes a log of at most size bytes: the set-up of a job, then lines of one shape.
func (s shape) writeLog(w io.Writer, size int64) error {
	files, _ := job(s.nodes).Generate()
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(files[0].Data); err != nil {
		return fmt.Errorf("writing the set-up of %d nodes: %w", s.nodes, err)
	}
	left := size - int64(len(files[0].Data))
	rng := rand.New(rand.NewPCG(1, 1))
	buf := make([]byte, 0, 512)
	for step := 0; ; step++ {
		buf = s.line(buf[:0], rng, s.nodes*gpus, step)
		if left -= int64(len(buf)); left < 0 {
			break
		}
		if _, err := out.Write(buf); err != nil {
			return fmt.Errorf("writing the lines after the set-up: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the end of the log: %w", err)
	}
	return nil
}

// appendTraining appends a line of a training job's own output.
func appendTraining(b []byte, rng *rand.Rand, ranks, step int) []byte {
	if rng.IntN(4) == 0 {
		return fmt.Appendf(b, "libfabric:%d:1796004%03d::efa:ep_data:efa_rdm_cq_poll_ibv_cq():%d<warn> unexpected completion\n",
			4000+rng.IntN(gpus)*7, step%1000, 300+rng.IntN(99))
	}
	return fmt.Appendf(b, "step %d rank %d loss %d.%04d tokens/s %d mfu 0.%d\n",
		step/ranks, rng.IntN(ranks), 2+rng.IntN(9), rng.IntN(10000), 9000+rng.IntN(3000), 30+rng.IntN(20))
}

// appendPrefix appends NCCL's prefix of a random rank of the job, as synth prints it.
func appendPrefix(b []byte, rng *rand.Rand, ranks int) (out []byte, rank int) {
	rank = rng.IntN(ranks)
	node, local := rank/gpus, rank%gpus
	pid := 4000 + local*7
	return fmt.Appendf(b, "train-%d-%d:%d:%d [%d] NCCL INFO ", node/200, node%200+10, pid, pid+900, local), rank
}

// appendCall appends the line that NCCL_DEBUG_SUBSYS=ALL prints for each collective.
func appendCall(b []byte, rng *rand.Rand, ranks, step int) []byte {
	b, _ = appendPrefix(b, rng, ranks)
	return fmt.Appendf(b, "%s: opCount %x sendbuff 0x7f%010x recvbuff 0x7f%010x count %d datatype 9 op 0 root 0 comm 0x7f%010x [nranks=%d] stream 0x55%010x\n",
		[]string{"AllGather", "ReduceScatter", "AllReduce"}[rng.IntN(3)], step, rng.Uint64N(1<<40), rng.Uint64N(1<<40),
		1<<rng.IntN(26), rng.Uint64N(1<<40), ranks, rng.Uint64N(1<<40))
}

// appendChannel appends a channel inside a node, as every new communicator prints it.
func appendChannel(b []byte, rng *rand.Rand, ranks, step int) []byte {
	b, rank := appendPrefix(b, rng, ranks)
	return fmt.Appendf(b, "Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM/read\n", step%32, rank, rank%gpus, rank^1, rank%gpus^1)
}

// writeFolder writes one file per rank of a job on EFA to dir. ranks must be a multiple of 8, and
// at least 16.
func writeFolder(dir string, ranks int) error {
	if ranks < 2*gpus || ranks%gpus != 0 {
		return fmt.Errorf("writing a folder of %d ranks: it must be a multiple of %d, and at least %d", ranks, gpus, 2*gpus)
	}
	run := job(ranks / gpus)
	run.Layout, run.Groups = synth.PerProcess, synth.World
	files, _ := run.Generate()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("making the folder for %d ranks: %w", ranks, err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return fmt.Errorf("writing a rank's file: %w", err)
		}
	}
	return nil
}
