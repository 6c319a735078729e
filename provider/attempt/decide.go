package attempt

import "github.com/ray-train-efa/ray-train-efa/rayapi"

// Job is the state of a record's job according to Ray.
type Job string

// The kinds of answer.
const (
	// Absent: Ray knows no such job. It was never submitted, or the head that
	// knew it is gone.
	Absent Job = "absent"
	// Foreign: a job has the id, but not the nonce.
	Foreign Job = "foreign"
	// Active: it waits or runs.
	Active Job = "active"
	// Ended: its status is final.
	Ended Job = "ended"
)

// Classify returns what Ray's answer about a record's job means. A nil job is one that Ray does not
// know.
func Classify(record Record, job *rayapi.Job) Job {
	switch {
	case job == nil:
		return Absent
	case job.Metadata[MetadataNonce] != record.Nonce:
		return Foreign
	case job.Status.Final():
		return Ended
	default:
		return Active
	}
}

// MetadataNonce is the key of a job's metadata that holds its attempt's nonce.
const MetadataNonce = "raytrain-nonce"

// Action is what to do next.
type Action string

// The actions.
const (
	// Adopt continues the recorded attempt: wait for its job and judge it.
	Adopt Action = "adopt"
	// Submit starts the next attempt.
	Submit Action = "submit"
	// StopThenSubmit first stops the recorded job, which holds the GPUs.
	StopThenSubmit Action = "stop-then-submit"
)

// Decide returns what to do for a wanted proof, given the record (nil when there is none) and Ray's
// answer about its job.
//
// Only an unsettled attempt of the wanted proof is adopted, whether its job still runs or has ended
// since. A settled one was judged before, and an old success never counts as a new proof. An absent
// job is not submitted again under its id: whether it ever ran cannot be known.
func Decide(record *Record, job Job, wanted Proof) Action {
	if record == nil {
		return Submit
	}
	adoptable := !record.Settled && wanted.Matches(record.ProofHash)
	for _, row := range decisions {
		if row.job == job && row.adoptable == adoptable {
			return row.action
		}
	}
	return Submit
}

// decisions holds every combination of Ray's answer with whether the record is
// unsettled and about the wanted proof.
//
//nolint:gochecknoglobals // a constant table; Go has no constant slices
var decisions = []struct {
	job       Job
	adoptable bool
	action    Action
}{
	{Active, true, Adopt},
	{Ended, true, Adopt},
	{Absent, true, Submit},
	{Foreign, true, Submit},
	{Active, false, StopThenSubmit},
	{Ended, false, Submit},
	{Absent, false, Submit},
	{Foreign, false, Submit},
}

// Next returns the record of the following attempt. Its number is above the recorded one and above
// known, the newest in the state: the record may have been removed.
func Next(record *Record, known int, instance, name, wanted string) Record {
	number := known
	if record != nil {
		number = max(number, record.Number)
	}
	number++
	return Record{
		Instance:     instance,
		Number:       number,
		Nonce:        NewNonce(),
		ProofHash:    wanted,
		SubmissionID: SubmissionID(name, wanted, number),
	}
}
