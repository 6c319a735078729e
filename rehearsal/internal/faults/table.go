package faults

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/charts"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/disturb"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/images"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/standin"
)

// gpuType and gpuQuota are the default GPU type and its quota of On-Demand vCPUs.
const (
	gpuType  = "g6.12xlarge"
	gpuQuota = "L-DB2E81BA"
)

// hang is the deadline for a job that hangs: it has written all its lines long before.
func hang() map[string]string { return map[string]string{"job.deadlineSeconds": "90"} }

// long returns settings for a job that runs for most of a minute, so that it is not over when the fault
// comes.
func long() map[string]string { return map[string]string{"job.steps": "2000"} }

// outageSeconds is how long an outage lasts that the gate must survive.
const outageSeconds = 20

// Table lists every fault, in the order in which --all-faults runs them.
func Table() []Fault {
	table := slices.Concat(evidence(), dashboard(), actions(), unpinned(), infrastructure())
	for i := range table {
		if table[i].Image == "" {
			table[i].Image = images.Complete
		}
	}
	return table
}

// evidence returns the faults of the job, its network and its evidence.
func evidence() []Fault {
	return []Fault{
		{Name: "pinned-abort", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive",
			Cause:       "plugin-not-found",
			Defect:      standin.NoPlugin,
			Description: "the image has no plugin and NCCL_NET is pinned: NCCL aborts, the job fails"},
		{Name: "job-crash", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive",
			Cause:       "job-failed-early",
			Defect:      standin.Crash,
			Description: "the script exits 1: refused with its last lines"},
		{Name: "rank-killed", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.RankKilled,
			Description: "one rank is killed, as by the kernel when memory runs out"},
		{Name: "wrong-interface", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive",
			Cause:       "socket-interface-wrong",
			Defect:      standin.WrongInterface,
			Description: "the script names an interface that pods do not have: NCCL cannot start"},
		{Name: "nccl-hang", Phase: PhaseGate, Pin: Pinned, Verdict: "efa", Settings: hang(),
			Defect:      standin.Hang,
			Description: "the first collective never ends after all channels connected: stopped at the deadline, refused"},
		{Name: "job-silent", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive", Settings: hang(),
			Defect:      standin.Silent,
			Description: "the job never reaches NCCL and reports nothing: stopped at the deadline"},
		{Name: "never-connected", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.NeverConnected,
			Description: "one rank's log has channels, but no line that they are connected"},
		{Name: "one-channel-on-tcp", Phase: PhaseGate, Pin: Pinned, Verdict: "mixed",
			Defect:      standin.SocketChannel,
			Description: "one of two channels between the nodes uses sockets"},
		{Name: "provider-tcp", Phase: PhaseGate, Pin: Pinned, Verdict: "not-efa", Fast: true,
			Cause:       "provider-not-efa",
			Defect:      standin.ProviderTCP,
			Description: "the script sets FI_PROVIDER=tcp: Libfabric over TCP, under the pin"},
		{Name: "log-missing", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.LogMissing,
			Description: "one rank's NCCL log does not exist"},
		{Name: "log-truncated", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.LogTruncated,
			Description: "one rank's NCCL log ends in the middle of a line, as on a full disk"},
		{Name: "log-rotated", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Defect:      standin.LogRotated,
			Description: "one rank's NCCL log is rotated in the middle of the set-up: both parts are read"},
		{Name: "log-of-earlier-run", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.LogOfEarlierRun,
			Description: "one rank's NCCL log is about a communicator of an earlier run"},
		{Name: "log-huge", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Defect:      standin.LogHuge,
			Description: "one rank's NCCL log has 100 MiB: judged as any other"},
		{Name: "log-not-utf8", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Defect:      standin.LogNotUTF8,
			Description: "one rank's NCCL log has bytes that are no text: judged as any other"},
		{Name: "manifest-of-earlier-run", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.ManifestOfEarlierRun,
			Description: "one rank's manifest has the nonce of another run"},
		{Name: "manifest-of-other-rank", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.ManifestOfOtherRank,
			Description: "one rank's manifest says that it is rank 0"},
		{Name: "manifest-names-other-log", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Defect:      standin.ManifestNamesOtherLog,
			Description: "one rank's manifest names the NCCL log of another rank as its own"},
		{Name: "fi-info-without-efa", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone,
			Cause:  "fi-info-no-efa",
			Defect: standin.NoFabric, Settings: map[string]string{"job.requireFiInfo": "true"},
			Description: "fi_info finds no EFA in the pods, and the settings require it"},
		{Name: "old-driver", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone,
			Cause:  "driver-too-old",
			Defect: standin.OldDriver, Settings: map[string]string{"job.device": "cuda"},
			Description: "the NVIDIA driver is older than the image's CUDA requires"},
	}
}

// dashboard returns the faults of the connection to Ray's dashboard and of its replies.
func dashboard() []Fault {
	return []Fault{
		{Name: "port-forward-cut", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Plan:        disturb.Plan{Effect: disturb.Cut},
			Description: "the port-forward is cut every 2 s: the job is judged all the same"},
		{Name: "dashboard-errors-briefly", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Plan: disturb.Plan{Effect: disturb.ServerError, From: disturb.Running,
				Seconds: outageSeconds},
			Description: "Ray's dashboard answers 500 for 20 s while the job runs"},
		{Name: "dashboard-errors", Phase: PhaseGate, Pin: Pinned, Verdict: verdictNone,
			Plan:        disturb.Plan{Effect: disturb.ServerError, From: disturb.Running},
			Description: "Ray's dashboard answers 500 from the start of the job on: no verdict"},
		{Name: "dashboard-hangs-briefly", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Plan: disturb.Plan{Effect: disturb.Hang, From: disturb.Running,
				Seconds: outageSeconds},
			Description: "Ray's dashboard does not answer for 20 s while the job runs"},
		{Name: "dashboard-hangs", Phase: PhaseGate, Pin: Pinned, Verdict: verdictNone,
			Plan:        disturb.Plan{Effect: disturb.Hang, From: disturb.Running},
			Description: "Ray's dashboard does not answer from the start of the job on: no verdict"},
		{Name: "wrong-token", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone,
			Cause:       "ray-unauthorized",
			Plan:        disturb.Plan{Effect: disturb.Unauthorized},
			Description: "Ray rejects the cluster's token: refused before the job"},
		{Name: "logs-errors", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Plan:        disturb.Plan{Effect: disturb.ServerError, Requests: disturb.Logs},
			Description: "Ray answers 500 to every request for a log file"},
		{Name: "logs-hang", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Plan:        disturb.Plan{Effect: disturb.Hang, Requests: disturb.Logs},
			Description: "downloads of log files never begin"},
		{Name: "logs-break", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Plan:        disturb.Plan{Effect: disturb.Break, Requests: disturb.Logs},
			Description: "downloads of log files end in the middle"},
		{Name: "logs-break-briefly", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Plan: disturb.Plan{Effect: disturb.Break, Requests: disturb.Logs,
				From: disturb.Ended, Seconds: 5},
			Description: "downloads of log files end in the middle for 5 s"},
		{Name: "logs-shortened", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Cause:       "manifest-invalid",
			Plan:        disturb.Plan{Effect: disturb.Shorten, Requests: disturb.Logs},
			Description: "Ray closes the log stream early and regularly, as with code 1000"},
		{Name: "submit-reply-lost", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA, Fast: true,
			Plan: disturb.Plan{Effect: disturb.LoseReply,
				Requests: disturb.Submissions},
			Description: "the reply to the submission is lost: one job runs, and is judged"},
		{Name: "package-too-large", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone,
			Plan:        disturb.Plan{Effect: disturb.TooLarge, Requests: disturb.Packages},
			Description: "Ray rejects the job's code with 413"},
		{Name: "runtime-env-fails", Phase: PhaseJob, Pin: Pinned, Verdict: "inconclusive",
			Cause:       "ray-job-failed",
			Plan:        disturb.Plan{Effect: disturb.LosePackage, Requests: disturb.Submissions},
			Description: "Ray has lost the job's code: it cannot install the runtime environment"},
		{Name: "job-pending", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Plan:        disturb.Plan{Effect: disturb.Starve, Requests: disturb.Submissions},
			Settings:    map[string]string{"job.deadlineSeconds": "40"},
			Description: "the job waits for ever for a resource: ended at the deadline"},
	}
}

// held returns the plan that waits in a phase for an action.
func held(phase disturb.Phase) disturb.Plan { return disturb.Plan{Hold: phase} }

// actions returns the faults that are one action in one phase of the update.
func actions() []Fault {
	var rows []Fault
	survived := func(name string, action Action, at disturb.Phase, description string) {
		rows = append(rows, Fault{Name: name, Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Action: action, Plan: held(at), Description: description})
	}
	refused := func(name string, phase Phase, action Action, at disturb.Phase, description string) {
		rows = append(rows, Fault{Name: name, Phase: phase, Pin: Pinned, Verdict: "inconclusive",
			Action: action, Plan: held(at), Description: description})
	}
	const again = ": the next up judges one job"
	survived("interrupt-before-submit", Interrupt, disturb.Contacted, "Ctrl-C in the preflight"+again)
	survived("interrupt-mid-run", Interrupt, disturb.Running, "Ctrl-C while the job runs"+again)
	survived("interrupt-collecting", Interrupt, disturb.Collecting,
		"Ctrl-C while the evidence is copied"+again)
	survived("kill-before-submit", Kill, disturb.Contacted, "kill -9 in the preflight"+again)
	survived("kill-submitted", Kill, disturb.Submitted,
		"kill -9 before the reply to the submission arrives"+again)
	rows[len(rows)-1].Fast = true
	survived("kill-mid-run", Kill, disturb.Running, "kill -9 while the job runs"+again)
	survived("kill-collecting", Kill, disturb.Collecting,
		"kill -9 while the evidence is copied"+again)
	survived("two-ups", SecondUp, disturb.Running, "a second up while the first one waits for the job")
	survived("record-deleted", DeleteRecord, disturb.Running,
		"the record of the attempt is deleted while the job runs")
	survived("api-server-down-before-submit", FreezeAPIServer, disturb.Contacted,
		"the API server does not answer for 20 s in the preflight")
	survived("api-server-down-mid-run", FreezeAPIServer, disturb.Running,
		"the API server does not answer for 20 s while the job runs")
	survived("api-server-down-collecting", FreezeAPIServer, disturb.Collecting,
		"the API server does not answer for 20 s while the evidence is copied")
	refused("job-stopped", PhaseGate, StopJob, disturb.Running,
		"another client stops the job through Ray's API")
	rows[len(rows)-1].Settings = long()
	rows = append(rows,
		Fault{Name: "wrong-digest-on-one-pod", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone,
			Action: SwapImage, Description: "one worker pod runs another image"},
		Fault{Name: "image-changed", Phase: PhaseNone, Pin: Pinned, Verdict: verdictEFA,
			Image:       images.Rebuilt,
			Description: "the digest changes: the pods are replaced, and the job runs again"})
	refused("worker-killed", PhaseJob, KillWorker, disturb.Running,
		"a worker pod is deleted while the job runs")
	rows[len(rows)-1].Settings = long()
	refused("node-lost", PhaseJob, LoseNode, disturb.Running,
		"a GPU node loses its power while the job runs")
	rows[len(rows)-1].Settings = long()
	survived("head-killed-before-submit", KillHead, disturb.Contacted,
		"the head's pod is deleted in the preflight")
	refused("head-killed-mid-run", PhaseGate, KillHead, disturb.Running,
		"the head's pod is deleted while the job runs: its evidence is lost")
	rows[len(rows)-1].Settings = long()
	refused("head-killed-after-success", PhaseGate, KillHead, disturb.Collecting,
		"the head's pod is deleted after the job, before its evidence is copied")
	return rows
}

// unpinned returns the faults of a job whose NCCL_NET is not pinned.
func unpinned() []Fault {
	return []Fault{
		{Name: "tcp-fallback", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa", Fast: true,
			Defect:      standin.NoPlugin,
			Description: "the image has no plugin: the job succeeds over sockets, the gate refuses"},
		{Name: "one-rank-on-tcp", Phase: PhaseGate, Pin: Unpinned, Verdict: "mixed", Settings: hang(),
			Defect:      standin.NoPluginOnOneRank,
			Description: "the plugin is missing on one rank: two networks, hang and flood"},
		{Name: "one-node-on-tcp", Phase: PhaseGate, Pin: Unpinned, Verdict: "mixed", Settings: hang(),
			Defect:      standin.NoPluginOnOneNode,
			Description: "the plugin is missing on one node: two networks in one communicator"},
		{Name: "refresh-after-red", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa",
			Defect:          standin.NoPlugin,
			RefreshAfterRed: true, Description: "tcp-fallback, then refresh, then up: still refused"},
	}
}

// infrastructure returns the faults that need infrastructure of their own.
func infrastructure() []Fault {
	return []Fault{
		{Name: "efa-device-missing", Phase: PhasePreflight, Pin: Any, Verdict: verdictNone,
			Charts:      map[charts.Chart]string{charts.EFADevicePlugin: charts.StaleEFARepository},
			Description: "the EFA plugin has no pod on the nodes: refused before the job"},
		{Name: "efa-device-broken", Phase: PhaseGate, Pin: Unpinned, Verdict: "not-efa",
			Account:     api.Faults{EFADeviceBroken: true},
			Description: "EFA is allocatable but the provider cannot open it: sockets after a failed init"},
		{Name: "no-self-egress", Phase: PhaseGate, Pin: Pinned, Verdict: "inconclusive",
			Settings:    hang(),
			Account:     api.Faults{StripSelfEgress: true},
			Description: "no security group allows egress to itself: no connection, hang"},
		{Name: "no-capacity", Phase: PhaseNodes, Pin: Any, Verdict: verdictNone,
			Account:     api.Faults{NoCapacity: []api.TypeInZone{{Type: gpuType}}},
			Description: "none of the GPU type in the zone: refused with the scaling activity's reason"},
		{Name: "quota", Phase: PhasePreview, Pin: Any, Verdict: verdictNone,
			Account:     api.Faults{Quota: map[string]float64{gpuQuota: 0}},
			Description: "96 vCPU of G instances not granted: refused with the increase command"},
	}
}
