package attempt

import (
	"errors"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rayapi"
)

// JobState is the state of a recorded job according to Ray.
type JobState string

// The states.
const (
	// Absent means that Ray has no such job and the head did not restart, so the job was never
	// submitted.
	Absent JobState = "absent"
	// Lost means that the head restarted after the job was recorded. The job's result is unknown, and
	// its evidence is lost.
	Lost JobState = "lost"
	// Foreign means that a job has the id, but not the nonce.
	Foreign JobState = "foreign"
	// Active means that the job is waiting or running.
	Active JobState = "active"
	// Moved means that the job is active, but in another session than the recorded one, so that part
	// of its evidence is lost.
	Moved JobState = "moved"
	// Ended means that the job's status is final.
	Ended JobState = "ended"
)

// Classify returns the state of a recorded job. job is the job in Ray, nil if Ray has none; session
// is the head's current session.
func Classify(record Record, job *rayapi.Job, session string) JobState {
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
	// StopThenSubmit first stops the recorded job, which uses the GPUs.
	StopThenSubmit Action = "stop-then-submit"
)

// recordState is the relation of a record to the required proof.
type recordState string

const (
	none    recordState = "none"    // there is no record
	same    recordState = "same"    // unsettled, of the required proof
	other   recordState = "other"   // unsettled, of another proof
	settled recordState = "settled" // judged, stopped or superseded
)

func relate(record *Record, proof Proof) recordState {
	switch {
	case record == nil:
		return none
	case record.Settled:
		return settled
	case proof.Matches(record.ProofHash):
		return same
	default:
		return other
	}
}

// ErrUndecided means that the decision table has no matching row. No job is submitted then, because
// one may be running.
var ErrUndecided = errors.New("no decision for this state of the attempt and its job")

// Decide returns the action for a required proof, given the record (nil when there is none) and the
// state of its job; decisions has the table.
//
// Only an unsettled attempt of the required proof is adopted, whether its job still runs or has
// ended. A settled one was judged before, and an old success never counts as a new proof. An absent
// job is not resubmitted with the same id, because it may have run.
func Decide(record *Record, job JobState, proof Proof) (Action, error) {
	state := relate(record, proof)
	action, ok := decisions()[state][job]
	if !ok {
		return "", fmt.Errorf("deciding about attempt record %q with job %q: %w; "+
			"next: kubectl -n NAMESPACE get configmaps,pods, then report this as a bug",
			state, job, ErrUndecided)
	}
	return action, nil
}

// decisions returns the decision table.
func decisions() map[recordState]map[JobState]Action {
	notSame := map[JobState]Action{
		Absent: Submit, Lost: Submit, Foreign: Submit, Ended: Submit,
		Active: StopThenSubmit, Moved: StopThenSubmit,
	}
	return map[recordState]map[JobState]Action{
		none: {Absent: Submit},
		same: {
			Active: Adopt, Ended: Adopt,
			Absent: Submit, Lost: Submit, Foreign: Submit,
			Moved: StopThenSubmit,
		},
		other:   notSame,
		settled: notSame,
	}
}

// Next returns the record of the following attempt. Its number is above the recorded one and above
// known, the highest in the state, because the record may have been removed.
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
