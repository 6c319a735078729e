package attempt

import (
	"errors"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// Job is the state of a record's job according to Ray.
type Job string

// The states.
const (
	// Absent: Ray knows no such job, and the head did not restart since it was recorded. It was never
	// submitted.
	Absent Job = "absent"
	// Lost: the head restarted since the job was recorded. How the job ended is unknown, and its
	// evidence is lost.
	Lost Job = "lost"
	// Foreign: a job has the id, but not the nonce.
	Foreign Job = "foreign"
	// Active: it waits or runs.
	Active Job = "active"
	// Moved: it is active, but in another session than the recorded one, so that part of its evidence
	// is lost.
	Moved Job = "moved"
	// Ended: its status is final.
	Ended Job = "ended"
)

// Classify returns the state of a record's job. job is Ray's answer, nil when Ray does not know it;
// session is the head's present one.
func Classify(record Record, job *rayapi.Job, session string) Job {
	restarted := record.Session != "" && session != record.Session
	switch {
	case job != nil && job.Metadata[MetadataNonce] != record.Nonce:
		return Foreign
	case job != nil && !job.Status.Final() && restarted:
		return Moved
	case restarted:
		return Lost
	case job == nil:
		return Absent
	case job.Status.Final():
		return Ended
	default:
		return Active
	}
}

// Keys of a job's metadata. They identify it even when the record is lost.
const (
	MetadataNonce    = "raytrain-nonce"
	MetadataProof    = "raytrain-proof"
	MetadataInstance = "raytrain-instance"
	MetadataName     = "raytrain-name"
	MetadataNumber   = "raytrain-attempt"
)

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

// standing is how a record relates to the wanted proof.
type standing string

const (
	none    standing = "none"    // there is no record
	wanted  standing = "wanted"  // unsettled, of the wanted proof
	other   standing = "other"   // unsettled, of another proof
	settled standing = "settled" // judged, stopped or superseded
)

func standingOf(record *Record, proof Proof) standing {
	switch {
	case record == nil:
		return none
	case record.Settled:
		return settled
	case proof.Matches(record.ProofHash):
		return wanted
	default:
		return other
	}
}

// ErrUndecided means that the decision table has no row for what was found. Nothing is submitted
// then, because a job may be running.
var ErrUndecided = errors.New("no decision for this state of the attempt and its job")

// Decide returns what to do for a wanted proof, given the record (nil when there is none) and the
// state of its job. The table in DESIGN.md has every combination.
//
// Only an unsettled attempt of the wanted proof is adopted, whether its job still runs or has ended
// since. A settled one was judged before, and an old success never counts as a new proof. An absent
// job is not submitted again under its id: whether it ever ran cannot be known.
func Decide(record *Record, job Job, proof Proof) (Action, error) {
	standing := standingOf(record, proof)
	action, ok := decisions()[standing][job]
	if !ok {
		return "", fmt.Errorf("deciding about attempt record %q with job %q: %w", standing, job, ErrUndecided)
	}
	return action, nil
}

// decisions is the decision table.
func decisions() map[standing]map[Job]Action {
	notWanted := map[Job]Action{
		Absent: Submit, Lost: Submit, Foreign: Submit, Ended: Submit,
		Active: StopThenSubmit, Moved: StopThenSubmit,
	}
	return map[standing]map[Job]Action{
		none: {Absent: Submit},
		wanted: {
			Active: Adopt, Ended: Adopt,
			Absent: Submit, Lost: Submit, Foreign: Submit,
			Moved: StopThenSubmit,
		},
		other:   notWanted,
		settled: notWanted,
	}
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
