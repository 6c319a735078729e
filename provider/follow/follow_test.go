package follow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/synth"
	"github.com/ray-train-efa/ray-train-efa/provider/evidence"
	"github.com/ray-train-efa/ray-train-efa/provider/follow"
	"github.com/ray-train-efa/ray-train-efa/rayapi"
	"github.com/ray-train-efa/ray-train-efa/rayapi/raytest"
)

const (
	id    = "train-1"
	nonce = "5eed"
)

// head is a Ray head that is called without a network, so that it can be used on a fake clock.
type head struct {
	*raytest.Server

	// down reports whether a request gets no answer.
	down func(*http.Request) bool
	// lines is what the user was shown.
	lines []string
}

func (h *head) RoundTrip(request *http.Request) (*http.Response, error) {
	if h.down != nil && h.down(request) {
		return nil, errors.New("connection refused")
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// newHead returns a head that runs a job.
func newHead(t *testing.T) *head {
	t.Helper()
	h := &head{Server: raytest.New()}
	t.Cleanup(h.Close)
	for _, node := range []string{"w0", "w1"} {
		h.Nodes = append(h.Nodes, rayapi.Node{ID: node, State: rayapi.Alive})
	}
	h.Jobs[id] = &rayapi.Job{SubmissionID: id, Status: rayapi.Running}
	return h
}

// leave adds the files of two ranks on two nodes.
func (h *head) leave(t *testing.T, fabric synth.Fabric) {
	t.Helper()
	logs, _ := synth.Run{
		Seed: 1, NCCL: synth.Version{Major: 2, Minor: 29, Patch: 7}, Plugin: synth.Version{Major: 1, Minor: 20},
		Nodes: 2, GPUs: 1, Channels: 2, Fabric: fabric, Hosts: synth.Distinct, Layout: synth.PerProcess,
		Groups: synth.World, Launcher: synth.Plain, Stamp: synth.NoStamp, Text: synth.Clean,
	}.Generate()
	require.Len(t, logs, 2)
	for rank, log := range logs {
		node := fmt.Sprintf("w%d", rank)
		manifest, err := json.Marshal(evidence.Manifest{
			Rank: rank, WorldSize: 2, Node: node, Nonce: nonce, SubmissionID: id, NCCLFile: log.Name,
		})
		require.NoError(t, err)
		h.AddFile(node, "raytrain/"+id+"/"+log.Name, log.Data)
		h.AddFile(node, fmt.Sprintf("raytrain/%s/rank%d.json", id, rank), manifest)
	}
}

// progress makes rank 0 report a step.
func (h *head) progress(step int) {
	h.AddFile("w0", "raytrain/"+id+"/progress.json", fmt.Appendf(nil, `{"step": %d, "steps": 9}`, step))
}

// wait waits for the job on a fake clock, and returns how long it took.
func (h *head) wait(ctx context.Context, t *testing.T, change func(*follow.Job)) (follow.Outcome, time.Duration, error) {
	t.Helper()
	client := rayapi.New(rayapi.Options{Transport: h})
	job := follow.Job{
		Ray: client, ID: id, Session: h.Session,
		Deadline: time.Hour, Pending: 10 * time.Minute, NoProgress: 20 * time.Minute, FailFast: true,
		Watch: evidence.NewWatch(evidence.Run{
			Expected: evidence.Expected{SubmissionID: id, Nonce: nonce, WorldSize: 2, Nodes: 2}, Provider: "efa",
		}),
		Clock: evidence.Clock{Now: time.Now, Sleep: rayapi.Sleep},
		Log:   func(line string) { h.lines = append(h.lines, line) },
	}
	if change != nil {
		change(&job)
	}
	collector := evidence.NewCollector(client, evidence.Copies{SubmissionID: id, Dir: t.TempDir()})
	defer func() { require.NoError(t, collector.Close()) }()
	began := time.Now()
	end, err := job.Wait(ctx, collector)
	return end, time.Since(began), err
}

func (h *head) stops() int { return h.Seen("POST /api/jobs/" + id + "/stop") }

// after calls do once, at the first look at the job after a time.
func (h *head) after(wait time.Duration, do func(*rayapi.Job)) {
	began := time.Now()
	h.OnJobRead = func(job *rayapi.Job) {
		if do != nil && time.Since(began) >= wait {
			do(job)
			do = nil
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// set prepares the head; it runs on the fake clock.
		set    func(t *testing.T, h *head)
		change func(*follow.Job)
		// stopped is why the job was stopped, status its last one; least and most is the time it took.
		stopped     follow.StopReason
		status      rayapi.JobStatus
		active      bool
		least, most time.Duration
		says        string
	}{
		{
			name: "it ends by itself",
			set: func(_ *testing.T, h *head) {
				h.after(5*time.Minute, func(job *rayapi.Job) { job.Status = rayapi.Succeeded })
			},
			status: rayapi.Succeeded, least: 5 * time.Minute, most: 5*time.Minute + 5*time.Second, says: "job train-1 RUNNING",
		},
		{
			name: "it takes too long", set: func(t *testing.T, h *head) {
				t.Helper()
				h.leave(t, synth.OnEFA)
			},
			stopped: follow.AtDeadline, status: rayapi.Stopped, least: time.Hour, most: time.Hour + time.Minute,
			says: "2 of 2 ranks, verdict so far efa",
		},
		{
			name: "its deadline counts from its start", set: func(t *testing.T, h *head) {
				t.Helper()
				h.leave(t, synth.OnEFA)
				h.Jobs[id].StartTime = time.Now().Add(-59 * time.Minute).UnixMilli()
			},
			stopped: follow.AtDeadline, status: rayapi.Stopped, least: time.Minute, most: 2 * time.Minute,
		},
		{
			name: "it never starts", set: func(_ *testing.T, h *head) {
				h.Jobs[id].Status, h.Jobs[id].Message = rayapi.Pending, "waiting for GPUs"
				h.OnJobRead = func(job *rayapi.Job) { job.Status = rayapi.Pending } // a stop does nothing
			},
			stopped: follow.TooLongPending, status: rayapi.Pending, active: true,
			least: 10 * time.Minute, most: 10*time.Minute + 2*follow.StopTimeout, says: "PENDING, 2 s: waiting for GPUs",
		},
		{
			name: "it leaves nothing", set: func(*testing.T, *head) {},
			stopped: follow.WithoutProgress, status: rayapi.Stopped, least: 20 * time.Minute, most: 22 * time.Minute,
		},
		{
			name: "it hangs in a step", set: func(t *testing.T, h *head) {
				t.Helper()
				h.leave(t, synth.OnEFA)
				h.progress(1)
				h.after(10*time.Minute, func(*rayapi.Job) { h.progress(2) })
			},
			stopped: follow.WithoutProgress, status: rayapi.Stopped, least: 30 * time.Minute, most: 33 * time.Minute,
			says: "step 2 of 9",
		},
		{
			name: "no limits", change: func(job *follow.Job) { job.Deadline, job.Pending, job.NoProgress = 0, 0, 0 },
			set: func(_ *testing.T, h *head) {
				h.after(3*time.Hour, func(job *rayapi.Job) { job.Status = rayapi.Failed })
			},
			status: rayapi.Failed, least: 3 * time.Hour, most: 3*time.Hour + time.Minute,
		},
		{
			name: "it is on TCP", set: func(t *testing.T, h *head) {
				t.Helper()
				h.leave(t, synth.SocketForced)
			},
			stopped: follow.NotEFA, status: rayapi.Stopped, most: 10 * time.Second, says: "stopping job train-1 (not-efa): ",
		},
		{
			name:   "it is on TCP, which may be",
			change: func(job *follow.Job) { job.FailFast = false },
			set: func(t *testing.T, h *head) {
				t.Helper()
				h.leave(t, synth.SocketForced)
				h.after(5*time.Minute, func(job *rayapi.Job) { job.Status = rayapi.Succeeded })
			},
			status: rayapi.Succeeded, least: 5 * time.Minute, most: 5*time.Minute + 5*time.Second, says: "verdict so far not-efa",
		},
		{
			name: "it ends while it is stopped", set: func(_ *testing.T, h *head) {
				h.after(time.Hour, func(job *rayapi.Job) {
					h.OnJobRead = func(*rayapi.Job) {
						if h.stopsLocked() > 0 {
							job.Status = rayapi.Succeeded
						}
					}
				})
			},
			change: func(job *follow.Job) { job.NoProgress = 0 },
			status: rayapi.Succeeded, least: time.Hour, most: time.Hour + time.Minute, says: "stopping job train-1 (deadline)",
		},
		{
			name: "it requests more GPUs than the cluster has", change: twoGPUs,
			set:     func(_ *testing.T, h *head) { h.request("01", rayapi.GroupPending, 1, 1, 1) },
			stopped: follow.Impossible, status: rayapi.Stopped, most: 10 * time.Second,
			says: "a placement group requests 3 GPUs, and the cluster has 2",
		},
		{
			name: "it requests more GPUs than a node has", change: twoGPUs,
			set:     func(_ *testing.T, h *head) { h.request("01", rayapi.GroupPending, 2) },
			stopped: follow.Impossible, status: rayapi.Stopped, most: 10 * time.Second,
			says: "a bundle of a placement group requests 2 GPUs, and a node has 1",
		},
		{
			name: "an actor requests more GPUs than a node has", change: twoGPUs,
			set: func(_ *testing.T, h *head) {
				h.request("01", "CREATED", 1, 1)
				h.Actors = []rayapi.Actor{{
					ClassName: "Trainer", JobID: "01", State: rayapi.ActorPending, Resources: map[string]float64{"GPU": 2},
				}}
			},
			stopped: follow.Impossible, status: rayapi.Stopped, most: 10 * time.Second,
			says: "an actor (Trainer) requests 2 GPUs, and a node has 1",
		},
		{
			name: "requests that can be met, or are of another job", change: twoGPUs,
			set: func(_ *testing.T, h *head) {
				h.request("02", rayapi.GroupPending, 9)
				h.request("01", "REMOVED", 9)
				h.request("01", rayapi.GroupPending, 1, 1)
				h.Actors = []rayapi.Actor{
					{JobID: "02", State: rayapi.ActorPending, Resources: map[string]float64{"GPU": 2}},
					{JobID: "01", State: rayapi.Dead, Resources: map[string]float64{"GPU": 2}},
					{JobID: "01", State: rayapi.ActorPending, Resources: map[string]float64{"GPU": 1, "CPU": 8}},
				}
				h.after(5*time.Minute, func(job *rayapi.Job) { job.Status = rayapi.Succeeded })
			},
			status: rayapi.Succeeded, least: 5 * time.Minute, most: 6 * time.Minute,
		},
		{
			name: "the cluster may grow", set: func(_ *testing.T, h *head) {
				h.request("01", rayapi.GroupPending, 9)
				h.after(5*time.Minute, func(job *rayapi.Job) { job.Status = rayapi.Succeeded })
			},
			status: rayapi.Succeeded, least: 5 * time.Minute, most: 6 * time.Minute,
		},
		{
			name: "the head restarts", set: func(_ *testing.T, h *head) {
				h.after(time.Minute, func(*rayapi.Job) { h.Session = "another" })
			},
			status: "", least: time.Minute, most: 2 * time.Minute,
		},
		{
			name: "the head forgets it", set: func(_ *testing.T, h *head) {
				h.after(time.Minute, func(*rayapi.Job) { delete(h.Jobs, id) })
			},
			status: "", least: time.Minute, most: 2 * time.Minute,
		},
		{
			name: "the head does not answer for two minutes", set: func(_ *testing.T, h *head) {
				began := time.Now()
				h.down = func(*http.Request) bool {
					since := time.Since(began)
					return since > time.Minute && since < 3*time.Minute
				}
				h.after(5*time.Minute, func(job *rayapi.Job) { job.Status = rayapi.Succeeded })
			},
			status: rayapi.Succeeded, least: 5 * time.Minute, most: 6 * time.Minute, says: "no response for",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHead(t)
			synctest.Test(t, func(t *testing.T) {
				test.set(t, h)
				end, took, err := h.wait(t.Context(), t, test.change)
				require.NoError(t, err)
				assert.Equal(t, test.stopped, end.Stopped)
				assert.Equal(t, test.status, end.Job.Status)
				assert.Equal(t, test.active, end.StillActive)
				assert.Equal(t, id, end.Job.SubmissionID)
				assert.GreaterOrEqual(t, took, test.least)
				assert.LessOrEqual(t, took, test.most)
				assert.Contains(t, strings.Join(h.lines, "\n"), test.says)
				if test.stopped == "" && !strings.HasPrefix(test.says, "stopping") {
					assert.Zero(t, h.stops(), "a job that may go on is never stopped")
				}
			})
		})
	}
}

// twoGPUs is a cluster of two nodes with one GPU each.
func twoGPUs(job *follow.Job) { job.GPUs, job.GPUsPerNode = 2, 1 }

// request adds a placement group with a bundle for each number of GPUs.
func (h *head) request(jobID string, state rayapi.PlacementGroupState, gpus ...float64) {
	h.Jobs[id].JobID = "01"
	group := rayapi.PlacementGroup{JobID: jobID, State: state}
	for _, count := range gpus {
		group.Bundles = append(group.Bundles, rayapi.Bundle{Resources: map[string]float64{"GPU": count, "CPU": 1}})
	}
	h.Groups = append(h.Groups, group)
}

// stopsLocked is stops for a hook of the server, which holds its lock.
func (h *head) stopsLocked() int {
	count := 0
	for _, request := range h.Requests {
		if strings.HasSuffix(request, "/stop") {
			count++
		}
	}
	return count
}

// A job that cannot be seen is left as it is: it may run well.
func TestWaitLeavesAJobThatItCannotSee(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(h *head, cancel func()) error{
		"the head does not answer": func(h *head, _ func()) error {
			began := time.Now()
			h.down = func(*http.Request) bool { return time.Since(began) > time.Minute }
			return follow.ErrHeadUnreachable
		},
		"the head answers with errors": func(h *head, _ func()) error {
			h.Fail = func(*http.Request) (int, string) { return http.StatusInternalServerError, "Traceback" }
			return follow.ErrHeadUnreachable
		},
		"the caller gives up": func(h *head, cancel func()) error {
			h.after(time.Minute, func(*rayapi.Job) { cancel() })
			return context.Canceled
		},
		"the caller gives up while the head does not answer": func(h *head, cancel func()) error {
			h.down = func(*http.Request) bool { return true }
			time.AfterFunc(time.Minute, cancel)
			return context.Canceled
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHead(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				want := set(h, cancel)
				_, took, err := h.wait(ctx, t, nil)
				require.ErrorIs(t, err, want)
				assert.Less(t, took, time.Minute+follow.HeadTimeout+time.Minute)
				assert.Zero(t, h.stops())
				assert.Equal(t, rayapi.Running, h.Jobs[id].Status)
			})
		})
	}
}

// What a log endpoint does that hangs delays neither deadline nor end.
func TestWaitDoesNotDependOnTheCopies(t *testing.T) {
	t.Parallel()
	h := newHead(t)
	synctest.Test(t, func(t *testing.T) {
		slow := &hanging{head: h}
		client := rayapi.New(rayapi.Options{Transport: slow})
		end, took, err := h.wait(t.Context(), t, func(job *follow.Job) {
			job.Ray, job.NoProgress = client, 0
		})
		require.NoError(t, err)
		assert.Equal(t, follow.AtDeadline, end.Stopped)
		assert.Less(t, took, time.Hour+time.Minute)
	})
}

// hanging is a head whose logs never answer.
type hanging struct{ *head }

func (h *hanging) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasPrefix(request.URL.Path, "/api/v0/") {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	return h.head.RoundTrip(request)
}

// The evidence is copied often until it shows a verdict, and seldom after that.
func TestCopiesAreSeldomOnceTheVerdictIsKnown(t *testing.T) {
	t.Parallel()
	counts := map[synth.Fabric]int{}
	for _, fabric := range []synth.Fabric{synth.OnEFA, ""} {
		h := newHead(t)
		synctest.Test(t, func(t *testing.T) {
			if fabric != "" {
				h.leave(t, fabric)
			}
			end, _, err := h.wait(t.Context(), t, func(job *follow.Job) { job.NoProgress = 0 })
			require.NoError(t, err)
			assert.Equal(t, follow.AtDeadline, end.Stopped)
		})
		counts[fabric] = h.Seen("GET /api/v0/nodes")
	}
	assert.Less(t, counts[synth.OnEFA], 40, "an hour with a verdict")
	assert.Greater(t, counts[""], 600, "an hour without one")
}
