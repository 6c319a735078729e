package nccl

import "github.com/ray-train-efa/ray-train-efa/nccl/report"

// The outcome of judging a run; see package report.
type (
	Verdict      = report.Verdict
	Severity     = report.Severity
	Report       = report.Report
	Communicator = report.Communicator
	Rank         = report.Rank
	Finding      = report.Finding
	Edge         = report.Edge
)

// The verdicts and severities; see package report.
const (
	EFA          = report.EFA
	NotEFA       = report.NotEFA
	Mixed        = report.Mixed
	Inconclusive = report.Inconclusive

	Error   = report.Error
	Warning = report.Warning
	Note    = report.Note

	MaxEdges = report.MaxEdges
)
