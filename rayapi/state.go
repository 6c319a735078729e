package rayapi

import (
	"context"
	"fmt"
	"strings"
)

// Version holds the version of Ray and the session of the head.
type Version struct {
	RayVersion string `json:"ray_version"`
	// SessionName changes at every start of the head.
	SessionName string `json:"session_name"`
}

// Version returns the head's version and session.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var version Version
	if err := c.get(ctx, "/api/version", &version); err != nil {
		return Version{}, fmt.Errorf("reading Ray's version: %w", err)
	}
	return version, nil
}

// CheckSession returns ErrHeadRestarted when the head has another session than the recorded one. An
// empty recorded session passes: nothing was recorded yet.
func (c *Client) CheckSession(ctx context.Context, recorded string) error {
	version, err := c.Version(ctx)
	if err != nil {
		return err
	}
	if recorded != "" && version.SessionName != recorded {
		return fmt.Errorf(
			"comparing sessions: %w: now %q, recorded %q",
			ErrHeadRestarted,
			version.SessionName,
			recorded,
		)
	}
	return nil
}

// NodeState is a node's state according to the state API.
type NodeState string

// Alive is the only state in which a node's logs can be read.
const Alive NodeState = "ALIVE"

// Node is one Ray node.
type Node struct {
	ID     string    `json:"node_id"`
	IP     string    `json:"node_ip"`
	Name   string    `json:"node_name"`
	IsHead bool      `json:"is_head_node"`
	State  NodeState `json:"state"`
	// Resources are totals: "CPU", "GPU", ...
	Resources    map[string]float64 `json:"resources_total"`
	StateMessage string             `json:"state_message"`
	// EndTime is in milliseconds since 1970; 0 for a node that is alive.
	EndTime int64 `json:"end_time_ms"`
}

// listReply is the envelope of every /api/v0 listing.
type listReply[T any] struct {
	Result bool   `json:"result"`
	Msg    string `json:"msg"`
	Data   struct {
		Result struct {
			Result []T `json:"result"`
		} `json:"result"`
	} `json:"data"`
}

// Nodes returns every node that the head knows, dead ones included.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	var reply listReply[Node]
	if err := c.get(ctx, "/api/v0/nodes?detail=true&limit=10000", &reply); err != nil {
		return nil, fmt.Errorf("listing Ray nodes: %w", err)
	}
	if !reply.Result {
		return nil, fmt.Errorf("listing Ray nodes: %s", reply.Msg)
	}
	return reply.Data.Result.Result, nil
}

// Actor is one Ray actor.
type Actor struct {
	ID        string     `json:"actor_id"`
	ClassName string     `json:"class_name"`
	State     ActorState `json:"state"`
	// JobID is Ray's own id of the job, as in Job.JobID.
	JobID  string `json:"job_id"`
	NodeID string `json:"node_id"`
	PID    int    `json:"pid"`
	// Resources are what the actor reserves while it is alive, by Ray's name, such as GPU.
	Resources map[string]float64 `json:"required_resources"`
	// DeathCause is nil for an actor that is alive.
	DeathCause *DeathCause `json:"death_cause"`
}

// ActorState is an actor's state according to the state API.
type ActorState string

// Dead is the only state in which an actor neither has nor requests resources. ActorPending means that
// it has none yet.
const (
	Dead         ActorState = "DEAD"
	ActorPending ActorState = "PENDING_CREATION"
)

// PlacementGroup is resources that a job requests together, such as those of all ranks of Ray Train.
type PlacementGroup struct {
	ID string `json:"placement_group_id"`
	// JobID is Ray's own id of the job, as in Job.JobID.
	JobID   string              `json:"creator_job_id"`
	State   PlacementGroupState `json:"state"`
	Bundles []Bundle            `json:"bundles"`
}

// Bundle is the part of a placement group that is on one node.
type Bundle struct {
	// Resources are the requested ones by Ray's name, such as GPU.
	Resources map[string]float64 `json:"unit_resources"`
}

// PlacementGroupState is the state of a placement group.
type PlacementGroupState string

// GroupPending means that the resources are not free, or that no node has them.
const GroupPending PlacementGroupState = "PENDING"

// PlacementGroups returns the placement groups that the head knows, removed ones included, of at most
// 10,000.
func (c *Client) PlacementGroups(ctx context.Context) ([]PlacementGroup, error) {
	var reply listReply[PlacementGroup]
	if err := c.get(ctx, "/api/v0/placement_groups?detail=true&limit=10000", &reply); err != nil {
		return nil, fmt.Errorf("listing Ray's placement groups: %w", err)
	}
	if !reply.Result {
		return nil, fmt.Errorf("listing Ray's placement groups: %s", reply.Msg)
	}
	return reply.Data.Result.Result, nil
}

// DeathCause says why an actor ended. One of its members is set, or none for an exception of its own.
// Source: ActorDeathCause in Ray's common.proto.
type DeathCause struct {
	Died          *ActorDied    `json:"actor_died_error_context"`
	OutOfMemory   *ActorFailure `json:"oom_context"`
	Unschedulable *ActorFailure `json:"actor_unschedulable_context"`
	RuntimeEnv    *ActorFailure `json:"runtime_env_failed_context"`
}

// ActorFailure is an error message of Ray.
type ActorFailure struct {
	Message string `json:"error_message"`
}

// ActorDied is why the process of an actor ended.
type ActorDied struct {
	ActorFailure
	Reason DeathReason `json:"reason"`
	NodeIP string      `json:"node_ip_address"`
}

// Intended reports whether the process ended itself, as by exit_actor(), or was ended by Ray for a
// normal reason. Ray has no field for it: the message names the type (WorkerExitType in Ray's
// src/ray/protobuf/common.proto).
func (d ActorDied) Intended() bool {
	return strings.Contains(d.Message, "Worker exit type: INTENDED_")
}

// DeathReason classifies the end of an actor's process. Other reasons are intended.
type DeathReason string

// The reasons that are failures.
const (
	WorkerDied DeathReason = "WORKER_DIED"
	NodeDied   DeathReason = "NODE_DIED"
)

// Actors returns the actors that the head knows, dead ones included, of at most 10,000.
func (c *Client) Actors(ctx context.Context) ([]Actor, error) {
	var reply listReply[Actor]
	if err := c.get(ctx, "/api/v0/actors?detail=true&limit=10000", &reply); err != nil {
		return nil, fmt.Errorf("listing Ray actors: %w", err)
	}
	if !reply.Result {
		return nil, fmt.Errorf("listing Ray actors: %s", reply.Msg)
	}
	return reply.Data.Result.Result, nil
}
