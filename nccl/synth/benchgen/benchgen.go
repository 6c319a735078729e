// Package benchgen writes the inputs of the verdict's benchmarks: one large log
// of line shapes that a job really prints, and a folder with a file per rank.
package benchgen

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
)

// job is a complete run on EFA with the pinned image's versions.
func job(nodes int, seed uint64) synth.Run {
	return synth.Run{
		Seed: seed, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: nodes, GPUs: 8, Channels: 16, Trees: true, Hosts: synth.Distinct, Groups: synth.Split,
		Launcher: synth.Plain, Stamp: synth.NoStamp, Layout: synth.Merged, Text: synth.Clean,
		Fabric: synth.OnEFA, Damage: synth.Whole, Expect: synth.Nothing,
	}
}

// WriteLog writes a log of about the given number of bytes, and never more: the
// set-up of a job of up to 4,096 ranks on EFA, all its lines interleaved, and
// then what its ranks print while they train with NCCL_DEBUG_SUBSYS=ALL, namely
// calls of collectives, progress, and warnings of libfabric. Its verdict is efa.
// The set-up takes at most about half of the bytes.
func WriteLog(w io.Writer, bytes int64, seed uint64) error {
	// A node's set-up takes about 260 KB.
	nodes := int(min(512, max(2, bytes/2/260_000)))
	files, _ := job(nodes, seed).Generate()
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(files[0].Data); err != nil {
		return fmt.Errorf("writing the set-up of %d nodes: %w", nodes, err)
	}
	left := bytes - int64(len(files[0].Data))
	rng := rand.New(rand.NewPCG(seed, 1))
	buf := make([]byte, 0, 512)
	for step := 0; ; step++ {
		buf = appendTraining(buf[:0], rng, nodes*8, step)
		if left -= int64(len(buf)); left < 0 {
			break
		}
		if _, err := out.Write(buf); err != nil {
			return fmt.Errorf("writing training lines: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the end of the log: %w", err)
	}
	return nil
}

// appendTraining appends one line of the training phase.
func appendTraining(b []byte, rng *rand.Rand, ranks, step int) []byte {
	rank := rng.IntN(ranks)
	node, local := rank/8, rank%8
	pid := 4000 + local*7
	switch rng.IntN(10) {
	case 0, 1:
		return fmt.Appendf(b, "step %d rank %d loss %d.%04d tokens/s %d mfu 0.%d\n", step/ranks, rank, 2+rng.IntN(9), rng.IntN(10000), 9000+rng.IntN(3000), 30+rng.IntN(20))
	case 2:
		return fmt.Appendf(b, "libfabric:%d:1796004%03d::efa:ep_data:efa_rdm_cq_poll_ibv_cq():%d<warn> unexpected completion\n", pid, step%1000, 300+rng.IntN(99))
	default:
		name := []string{"AllGather", "ReduceScatter", "AllReduce"}[rng.IntN(3)]
		return fmt.Appendf(b, "train-%d-%d:%d:%d [%d] NCCL INFO %s: opCount %x sendbuff 0x7f%010x recvbuff 0x7f%010x count %d datatype 9 op 0 root 0 comm 0x7f%010x [nranks=%d] stream 0x55%010x\n",
			node/200, node%200+10, pid, pid+900, local, name, step, rng.Uint64N(1<<40), rng.Uint64N(1<<40), 1<<rng.IntN(26), rng.Uint64N(1<<40), ranks, rng.Uint64N(1<<40))
	}
}

// WriteFolder writes one file per rank of a job on EFA to dir: ranks must be a
// multiple of 8, and at least 16.
func WriteFolder(dir string, ranks int) error {
	if ranks < 16 || ranks%8 != 0 {
		return fmt.Errorf("writing a folder of %d ranks: it must be a multiple of 8, and at least 16", ranks)
	}
	run := job(ranks/8, 1)
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
