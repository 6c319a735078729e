// Package scheduler holds the resource type and the rules of EventBridge Scheduler, and performs the
// one call that a schedule of the program makes.
package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Types are the resource types of EventBridge Scheduler.
func Types() []store.AnyType { return []store.AnyType{scheduleType()} }

// Schedule is aws:scheduler/schedule:Schedule.
type Schedule struct {
	Description                string             `json:"description,omitempty"`
	FlexibleTimeWindow         FlexibleTimeWindow `json:"flexibleTimeWindow" aws:"required"`
	GroupName                  string             `json:"groupName,omitempty" aws:"replace,initial=default"`
	Name                       string             `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix                 string             `json:"namePrefix,omitempty" aws:"replace"`
	ScheduleExpression         string             `json:"scheduleExpression" aws:"required"`
	ScheduleExpressionTimezone string             `json:"scheduleExpressionTimezone,omitempty" aws:"initial=UTC"`
	State                      string             `json:"state,omitempty" aws:"initial=ENABLED"`
	Target                     Target             `json:"target" aws:"required"`

	ARN string `json:"arn,omitempty" aws:"computed"`
	// Done is the expression whose time has passed and whose call was made.
	Done string `json:"_done,omitempty" aws:"hidden"`
}

// FlexibleTimeWindow is when around its time a schedule runs.
type FlexibleTimeWindow struct {
	MaximumWindowInMinutes int    `json:"maximumWindowInMinutes,omitempty"`
	Mode                   string `json:"mode" aws:"required"`
}

// Target is the call that a schedule makes.
type Target struct {
	ARN     string `json:"arn" aws:"required"`
	Input   string `json:"input,omitempty"`
	RoleARN string `json:"roleArn" aws:"required"`
}

// request is the input of UpdateNodegroupConfig.
type request struct {
	ClusterName   *string
	NodegroupName *string
	ScalingConfig struct{ MinSize, MaxSize, DesiredSize *int }
}

// Schedules is the token of Schedule.
const Schedules store.Token[Schedule] = "aws:scheduler/schedule:Schedule"

// updateTarget is the universal target that is emulated.
const updateTarget = "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"

func scheduleType() store.Type[Schedule] {
	return store.Type[Schedule]{
		Service:   "Scheduler",
		CreateAPI: "CreateSchedule", UpdateAPI: "UpdateSchedule", DeleteAPI: "DeleteSchedule",
		Token: Schedules,
		Item:  store.HoldsName[Schedule],
		Create: func(o *store.Op, in *Schedule) (string, error) {
			in.Name = store.Named(in.Name, in.NamePrefix)
			if in.GroupName == "" {
				in.GroupName = "default"
			}
			in.ARN = o.ARN("scheduler", "schedule/"+in.GroupName+"/"+in.Name)
			return in.GroupName + "/" + in.Name, check(o, in)
		},
		Update: func(o *store.Op, _ string, _, in *Schedule) error { return check(o, in) },
	}
}

func invalid(format string, args ...any) error {
	return api.Errorf("ValidationException", format, args...)
}

// check validates a schedule.
// Sources: EventBridge Scheduler API reference, CreateSchedule; its user guide, "Using universal
// targets": the names in the input begin in upper case.
func check(o *store.Op, in *Schedule) error {
	if in.FlexibleTimeWindow.Mode != "OFF" && in.FlexibleTimeWindow.Mode != "FLEXIBLE" {
		return invalid("Value '%s' at 'flexibleTimeWindow.mode' must be OFF or FLEXIBLE", in.FlexibleTimeWindow.Mode)
	}
	if _, err := in.time(); err != nil {
		return err
	}
	if in.Target.ARN != updateTarget {
		return invalid("Provided Arn is not in correct format. (rehearsal: only %s is emulated)", updateTarget)
	}
	if _, err := in.request(); err != nil {
		return err
	}
	role, ok := iam.RoleByARN(o, in.Target.RoleARN)
	if !ok || !iam.Trusts(role, "scheduler.amazonaws.com") {
		return invalid("The execution role you provide must allow AWS EventBridge Scheduler to assume the role.")
	}
	return nil
}

// time returns when a one-time schedule runs.
func (s *Schedule) time() (time.Time, error) {
	at, err := time.Parse("at(2006-01-02T15:04:05)", s.ScheduleExpression)
	if err != nil {
		return at, invalid("Invalid Schedule Expression %s. (rehearsal: only at() is emulated)", s.ScheduleExpression)
	}
	if zone := s.ScheduleExpressionTimezone; zone != "" && zone != "UTC" {
		return at, invalid("time zone %q (rehearsal: only UTC is emulated)", zone)
	}
	return at, nil
}

// due reports whether the time of the schedule has come and it has not run.
func (s *Schedule) due(now time.Time) bool {
	at, err := s.time()
	return err == nil && !now.Before(at) && s.Done != s.ScheduleExpression && s.State != "DISABLED"
}

func (s *Schedule) request() (request, error) {
	var in request
	decoder := json.NewDecoder(bytes.NewReader([]byte(s.Target.Input)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, invalid("Invalid RequestJson provided. (rehearsal: %v)", err)
	}
	// Go reads names of any case; EventBridge Scheduler does not.
	var names map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.Target.Input), &names); err != nil {
		return in, invalid("Invalid RequestJson provided. (rehearsal: %v)", err)
	}
	var missing []string
	for _, name := range []string{"ClusterName", "NodegroupName"} {
		if _, ok := names[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return in, invalid("Invalid RequestJson provided. Reason The request is missing the following field(s): %s.",
			strings.Join(missing, ", "))
	}
	return in, nil
}

// Run makes the calls of all schedules whose time has come. A call that the role may not make, or
// whose node group is gone, has no effect, as on AWS without a dead-letter queue.
func Run(ctx context.Context, a *store.Store) error {
	waiting := false
	a.Look(func(o *store.Op) {
		for _, one := range Schedules.In(o) {
			waiting = waiting || one.due(o.Now)
		}
	})
	if !waiting {
		return nil
	}
	type call struct {
		group string
		size  request
	}
	var due []call
	err := a.Change(func(o *store.Op) error {
		for _, id := range Schedules.In(o).IDs() {
			one := Schedules.In(o)[id]
			if !one.due(o.Now) {
				continue
			}
			one.Done = one.ScheduleExpression
			role, ok := iam.RoleByARN(o, one.Target.RoleARN)
			if !ok || !iam.HasInlineAction(o, role, "eks:UpdateNodegroupConfig") {
				continue
			}
			in, err := one.request()
			if err != nil {
				continue
			}
			group := *in.ClusterName + ":" + *in.NodegroupName
			if _, ok := eks.NodeGroups.In(o)[group]; ok {
				due = append(due, call{group, in})
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("running schedules: %w", err)
	}
	for _, one := range due {
		if err := eks.Resize(ctx, a, one.group, one.size.ScalingConfig.MinSize, one.size.ScalingConfig.DesiredSize); err != nil {
			return fmt.Errorf("running the schedule of %q: %w", one.group, err)
		}
	}
	return nil
}
