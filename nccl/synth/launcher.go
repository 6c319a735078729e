package synth

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Launcher is the program through which the processes' lines were collected,
// and so what it put around them.
type Launcher string

// The launchers.
const (
	Plain       Launcher = "plain"
	Ray         Launcher = "ray"            // colored, with every line
	RayIP       Launcher = "ray-ip"         // remote workers, no color
	RayNested   Launcher = "ray-nested"     // an actor inside an engine
	RayDedup    Launcher = "ray-dedup"      // the driver's log, repeated lines dropped
	MPI         Launcher = "mpi"            // mpirun --tag-output
	Srun        Launcher = "srun"           // srun --label
	Pdsh        Launcher = "pdsh"           // pdsh, deepspeed
	RankLabel   Launcher = "rank-label"     // a label that looks like cudaDev
	SkyPilot    Launcher = "skypilot"       // directly before the host
	Databricks  Launcher = "databricks"     // notebook source
	Indented    Launcher = "indented"       // documentation
	Kubectl     Launcher = "kubectl"        // kubectl logs --prefix
	Torchrun    Launcher = "torchrun"       // torchrun --tee
	Compose     Launcher = "compose"        // docker compose logs
	CloudWatch  Launcher = "cloudwatch"     // | time | line
	TimeGlued   Launcher = "time-glued"     // CloudWatch export: time glued, message repeated
	TimeOnNext  Launcher = "time-next-line" // CloudWatch export: time on the next line
	DoubledHost Launcher = "doubled-host"   // the host before the host
	DockerJSON  Launcher = "docker-json"    // docker's json-file driver
	FluentBit   Launcher = "fluent-bit"     // Fluent Bit's records, as in EKS's CloudWatch groups
)

// Launchers lists every launcher.
func Launchers() []Launcher {
	return []Launcher{
		Plain, Ray, RayIP, RayNested, RayDedup, MPI, Srun, Pdsh, RankLabel, SkyPilot, Databricks,
		Indented, Kubectl, Torchrun, Compose, CloudWatch, TimeGlued, TimeOnNext, DoubledHost,
		DockerJSON, FluentBit,
	}
}

// wrap gives one line of process p as the launcher passes it on.
func (l Launcher) wrap(p *process, rng *rand.Rand, text string) []string {
	clock := fmt.Sprintf("2026-05-16T16:39:%02d.%03d-07:00", rng.IntN(60), rng.IntN(1000))
	switch l {
	case CloudWatch:
		return []string{" | " + clock + " | " + text}
	case TimeGlued:
		return []string{clock + text + " | " + text}
	case TimeOnNext:
		return []string{text, clock}
	case DockerJSON:
		return []string{`{"log":` + quoted(text+"\n", true) + `,"stream":"stdout","time":"` + clock + `"}`}
	case FluentBit:
		return []string{`{"time":"` + clock + `","stream":"stdout","_p":"F","log":` + quoted(text, false) + `,"kubernetes":{"host":"ip-10-0-1-5"}}`}
	default:
		return []string{l.prefix(p, rng) + text}
	}
}

// quoted returns the text as JSON writes it; docker escapes what HTML needs escaped.
func quoted(text string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(text); err != nil {
		panic(err) // a string has a JSON form
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// prefix returns what the launcher puts before every line of process p.
func (l Launcher) prefix(p *process, rng *rand.Rand) string {
	low, high := p.node%200+10, p.node/200
	switch l {
	case Ray, RayDedup:
		return fmt.Sprintf("\x1b[36m(RayTrainWorker pid=%d)\x1b[0m ", p.pid)
	case RayIP:
		return fmt.Sprintf("(RayTrainWorker pid=%d, ip=10.0.%d.%d) ", p.pid, high, low)
	case RayNested:
		return fmt.Sprintf("\x1b[36m(EngineCore_DP0 pid=77)\x1b[0m \x1b[36m(RayWorkerWrapper pid=%d, ip=10.0.0.%d)\x1b[0m ", p.pid, low)
	case MPI:
		return fmt.Sprintf("[1,%d]<%s>:", p.index, []string{"stdout", "stderr"}[rng.IntN(2)])
	case Srun:
		return fmt.Sprintf("%*d: ", 1+rng.IntN(2), p.index)
	case Pdsh:
		return fmt.Sprintf("10.3.%d.%d: ", high, low)
	case RankLabel:
		return fmt.Sprintf("[%d] ", p.index)
	case SkyPilot:
		return fmt.Sprintf("(worker%d, rank=%d, pid=5634) [trainer:2]:", p.node, p.index)
	case Databricks:
		return "# MAGIC "
	case Indented:
		return "        "
	case Kubectl:
		return fmt.Sprintf("[pod/trainer-%d-x7k2p/ray-worker] ", p.index)
	case Torchrun:
		return fmt.Sprintf("[default%d]:", p.index)
	case Compose:
		return fmt.Sprintf("trainer-%d  | ", p.index)
	case DoubledHost:
		return p.host + ": " + p.host + ": "
	default:
		return ""
	}
}

// Stamp is NCCL's own time stamp, from 2.26.2.
type Stamp string

// The stamps. All but NoStamp are set for every level.
const (
	NoStamp    Stamp = "none"          // WARN lines only, in the default format
	Bracketed  Stamp = "bracketed"     // the default format
	Bare       Stamp = "bare"          // no brackets
	Piped      Stamp = "piped"         // ends in " | "
	Wordy      Stamp = "wordy"         // text of its own
	BracketEnd Stamp = "bracket-end"   // no blank before the host, but a bracket
	Tight      Stamp = "tight"         // glued to the host
	TightWord  Stamp = "constant-word" // a constant word glued to the host
)

// Stamps lists every stamp.
func Stamps() []Stamp {
	return []Stamp{NoStamp, Bracketed, Bare, Piped, Wordy, BracketEnd, Tight, TightWord}
}

// text returns the stamp at a moment that moves on by itself.
func (s Stamp) text(rng *rand.Rand) string {
	clock := fmt.Sprintf("%02d:%02d:%02d", 1+rng.IntN(2), rng.IntN(60), rng.IntN(60))
	switch s {
	case Bracketed:
		return "[2026-11-30 " + clock + "] "
	case Bare:
		return "2026-11-30 " + clock + ".254 "
	case Piped:
		return "2026-11-30T" + clock + "Z | "
	case Wordy:
		return "at " + clock + " (run 7): "
	case BracketEnd:
		return "[" + clock + "]"
	case Tight:
		return "2026-11-30 " + clock
	case TightWord:
		return "job7@"
	default:
		return ""
	}
}
