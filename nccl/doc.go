// Package nccl reports whether the inter-node traffic of a job used EFA, from
// NCCL's own log lines and nothing else.
//
// Collect opens files, folders and archives as sources, and Judge reads them
// into a report (package report). A log line goes one way:
//
//	nccl                  opens the sources and cuts them into blocks
//	nccl/internal/record  bytes to records: NCCL's prefix, the forms of its messages
//	nccl/internal/model   records to processes, their communicators and channels
//	nccl/internal/verdict the model to a verdict, tables and findings
//	nccl/finding          the codes of the findings and their words
//	nccl/report           the report
//	nccl/render           the report as text, JSON, HTML and JUnit
//
// # Adding a line form
//
// One entry in nccl/internal/record/forms.go, in the list that fits: what the
// message starts with (lead), what it must contain (has), how to read it
// (parse, nil for a line that only gives rise to a finding), the finding
// (code), whether it undoes a provider's selection (fails), and one line as it
// is printed (like). TestForms checks that entry by itself: its line must match
// it and no form before it. A new finding is one constant and one row in
// nccl/finding/codes.go.
//
// # What the judge never does
//
// It never takes the absence of a line for proof. Where a line could belong to
// two communicators, it goes to the one that makes the verdict stricter; what is
// torn, left out or contradictory makes the verdict inconclusive.
package nccl
