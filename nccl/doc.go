// Package nccl reports whether the inter-node traffic of a job used EFA, from
// NCCL's own log lines and nothing else.
//
// Collect opens files, folders and archives as sources, and Judge reads them
// into a report (package report). The data flow:
//
//	nccl                  opens the sources and cuts them into blocks
//	nccl/internal/record  bytes to records: NCCL's prefix, the forms of its messages
//	nccl/internal/model   records to processes, their communicators and channels
//	nccl/internal/verdict the model to a verdict, tables and findings
//	nccl/finding          the codes of the findings and their words
//	nccl/report           the report
//	nccl/render           the report as text, JSON, HTML, Markdown and JUnit
//
// # Adding a line form
//
// Add one entry to the matching list in nccl/internal/record/forms.go: what the message starts with
// (lead), what it must contain (has), how to read it (parse, nil for a line that only gives rise to
// a finding), the finding (code), whether it undoes a provider's selection (fails), and one line as
// printed (example). TestForms checks the entry: its line must match it and no form before it. A
// new finding is one constant in nccl/finding/codes.go and one row in a nccl/finding/rows_*.go.
//
// # Rules
//
// The absence of a line is never proof. A line that could belong to two communicators is assigned
// to the one that makes the verdict stricter. Incomplete, missing or contradictory lines make the
// verdict inconclusive.
package nccl
