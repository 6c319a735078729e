// Package nccl says whether the inter-node traffic of a job rode EFA, from
// NCCL's own log lines and nothing else.
//
// A source is read once, block by block. scan.go finds the records (a launcher's
// prefix, NCCL's prefix, a message), forms.go says which messages mean
// something, and replay.go applies them in file order to a small model of
// processes and their communicators (model.go; members.go and channels.go fill
// it). unify.go joins the model over files (attach.go, draft.go) into
// communicators (comm.go) and runs (runs.go), judge.go holds the conditions of the verdict, and codes.go the words of
// its findings.
//
// # Adding a line form
//
// One entry in forms.go, in the list that fits: what the message starts with
// (lead), something that must stand in it (has), how to read it (parse, nil for
// a line that only a finding rests on), the finding (code), whether it undoes a
// provider's selection (fails), and one line as it is printed (like). TestForms
// checks that entry by itself: its line must be found by it and by no form before
// it. A new finding is one constant and one row in codes.go.
//
// # What the judge never does
//
// It never takes the absence of a line for proof. Where a line could belong to
// two communicators, it goes to the one that makes the verdict stricter; what is
// torn, swallowed or contradictory makes the verdict inconclusive.
package nccl
