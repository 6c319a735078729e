package nccl_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ray-train-efa/ray-train-efa/nccl"
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
)

// Judge reads files, folders and archives.
func ExampleJudge() {
	sources, err := nccl.Collect([]string{"testdata/cases/04-efa-note-after-network.log"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	report, err := nccl.Judge(context.Background(), sources, nccl.Options{WorldSize: 2, Nodes: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Verdict)
	// Output: efa
}

// A Monitor takes the bytes of each rank's log as they arrive.
func ExampleMonitor() {
	m := nccl.NewMonitor(nccl.Options{})
	m.Add("rank0.log", []byte("a:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"))
	fmt.Println(m.Status().Report.Verdict, m.Status().CanBecomeEFA)
	m.Add("rank0.log", []byte("a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"))
	s := m.Status()
	fmt.Println(s.Report.Verdict, s.CanBecomeEFA)
	e, _ := finding.Explain(s.Report.Findings[0].Code)
	fmt.Println(e.Code)
	// Output:
	// inconclusive true
	// not-efa false
	// other-network
}
