package drill

import (
	"fmt"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Case is one run of the built-in training, and what a host without EFA must show.
type Case struct {
	Name string
	// About says what the case shows.
	About string
	// Status and Verdict are expected.
	Status  rayapi.JobStatus
	Verdict report.Verdict

	// environment is added to the job's.
	environment map[string]string
	// change adapts the training's configuration.
	change func(*train.Config)
	// first is run before, to leave a checkpoint.
	first func(*train.Config)
	// needsGPU is set for what a CPU cannot show.
	needsGPU bool
}

// socket makes NCCL use TCP sockets and nothing else.
func socket() map[string]string { return map[string]string{"NCCL_NET": "Socket"} }

// aws is the environment of AWS's reference, which asks for EFA and does not pin it.
func aws() map[string]string {
	return map[string]string{"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi"}
}

// Cases returns the cases that run on a device, in order. Without NCCL there is no evidence, so every
// verdict on a CPU is inconclusive.
func Cases(device train.Device) []Case {
	pinned := aws()
	pinned["NCCL_NET"] = "Libfabric"
	list := []Case{
		{
			Name: "fallback", About: "EFA is asked for and not there: NCCL falls back to TCP, the job succeeds",
			Status: rayapi.Succeeded, Verdict: report.NotEFA, environment: aws(), needsGPU: true,
		},
		{
			Name: "pinned", About: "the same with NCCL_NET pinned: NCCL aborts, the job fails",
			Status: rayapi.Failed, Verdict: report.Inconclusive, environment: pinned, needsGPU: true,
		},
		{
			Name: "fsdp2", About: "a healthy run over TCP, FSDP2", Status: rayapi.Succeeded, Verdict: report.NotEFA,
			environment: socket(),
		},
		{
			Name: "fsdp1", About: "a healthy run over TCP, FSDP1", Status: rayapi.Succeeded, Verdict: report.NotEFA,
			environment: socket(), needsGPU: true, change: func(c *train.Config) { c.Strategy = train.FSDP1 },
		},
		{
			Name: "ddp", About: "a healthy run over TCP, DDP", Status: rayapi.Succeeded, Verdict: report.NotEFA,
			environment: socket(), change: func(c *train.Config) { c.Strategy = train.DDP },
		},
		{
			Name: "resumed", About: "a run of half the steps, and one that continues at its checkpoint",
			Status: rayapi.Succeeded, Verdict: report.NotEFA, environment: socket(),
			first:  func(c *train.Config) { c.Steps /= 2 },
			change: func(c *train.Config) { c.CheckpointEvery = c.Steps / 2 },
		},
		{
			Name: "killed", About: "a rank is killed after a checkpoint, and Ray Train restarts all ranks",
			Status: rayapi.Succeeded, Verdict: report.NotEFA, environment: socket(),
			change: func(c *train.Config) {
				c.CheckpointEvery, c.KillAtStep, c.MaxFailures = max(1, c.Steps/4), c.Steps/2+1, 1
			},
		},
	}
	if device == train.CUDA {
		return list
	}
	list = slices.DeleteFunc(list, func(c Case) bool { return c.needsGPU })
	for i := range list {
		list[i].Verdict = report.Inconclusive
	}
	return list
}

// choose returns the named cases, or all when none is named.
func choose(all []Case, names []string) ([]Case, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	var chosen []Case
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("flag --case %q: must be one of %q", name, known)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
