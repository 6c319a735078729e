// Package recovery finds what a killed update left: resources that were being created, and that the
// stack's state therefore does not hold. It imports them into the state or deletes them.
package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/internal/owned"
)

// Status says what is known about a pending operation's resource.
type Status string

// The statuses of a leftover.
const (
	// Found means that the resource exists and is not in the state.
	Found Status = "found"
	// Absent means that it does not exist: the request was never sent.
	Absent Status = "absent"
	// InState means that the state holds the resource, or that the next update continues it.
	InState Status = "in the state"
	// Unknown means that neither tags nor names say whether it exists.
	Unknown Status = "unknown"
)

// Leftover is the resource of one pending operation.
type Leftover struct {
	URN, Type, Name string
	// Operation is Pulumi's: creating, updating, deleting, reading, importing.
	Operation string
	Status    Status
	// ID is the provider's id of a resource that was found.
	ID string
	// Replacement means that the state holds an older resource with the same URN.
	Replacement bool
	// Unfinished means that a Helm release was found whose installation did not end. Helm does not
	// continue it, so it is always deleted.
	Unfinished bool
	// Note says why, or what to do.
	Note string

	operation operation
}

// Line describes the leftover in one line.
func (l Leftover) Line() string {
	line := fmt.Sprintf("%s %s %q: %s", l.Operation, l.Type, l.Name, l.Status)
	if l.ID != "" {
		line += ", id " + l.ID
	}
	if l.Note != "" {
		line += " (" + l.Note + ")"
	}
	return line
}

// Lookup asks AWS and the cluster.
type Lookup struct {
	// Tagged returns the AWS resources that carry the stack's tags.
	Tagged func(ctx context.Context) ([]owned.Resource, error)
	// Object returns whether a Kubernetes object exists. The kind is in kubectl's form,
	// KIND.VERSION.GROUP.
	Object func(ctx context.Context, kind, namespace, name string) (bool, error)
	// Release returns Helm's statuses of a release's revisions, such as "pending-install".
	Release func(ctx context.Context, namespace, name string) ([]string, error)
}

// Leftovers returns one leftover per pending operation of the state, in order.
func (s *State) Leftovers(ctx context.Context, lookup Lookup) ([]Leftover, error) {
	var (
		leftovers []Leftover
		tagged    []owned.Resource
		listed    bool
	)
	for _, op := range s.pending {
		r := op.Resource
		left := Leftover{URN: r.URN, Type: r.Type, Name: r.name(), Operation: op.Type, operation: op}
		switch {
		case op.Type != creating:
			left.Status, left.Note = InState, "the next up or destroy continues it"
		case strings.HasPrefix(r.Type, "raytrain:"):
			left.Status, left.Note = InState,
				"its attempt is recorded in the cluster, and the next up continues it"
		case !r.Custom || strings.HasPrefix(r.Type, "pulumi:"):
			left.Status = Absent
		case strings.HasPrefix(r.Type, "aws:"):
			if !listed {
				var err error
				if tagged, err = lookup.Tagged(ctx); err != nil {
					return nil, err
				}
				listed = true
			}
			s.findInAWS(&left, tagged)
		case strings.HasPrefix(r.Type, "kubernetes:"):
			findInCluster(ctx, &left, lookup)
		default:
			left.Status = Unknown
		}
		if left.Status == Found {
			s.compare(&left, leftovers)
		}
		leftovers = append(leftovers, left)
	}
	return leftovers, nil
}

// compare checks a resource that was found against the state and the leftovers before it. A later
// update may have created it, and Pulumi keeps the pending operation of the killed one.
func (s *State) compare(left *Leftover, before []Leftover) {
	same := func(urn, id string) bool { return urn == left.URN && id == left.ID }
	if slices.ContainsFunc(s.known, func(r resource) bool { return same(r.URN, r.ID) }) ||
		slices.ContainsFunc(before, func(l Leftover) bool { return same(l.URN, l.ID) }) {
		left.Status = InState
		return
	}
	if s.has(left.URN) {
		left.Replacement = true
		left.Note = "it replaces a resource of the state; the next up or destroy deletes it"
	}
}

// findInAWS looks for the resource among those with the stack's tags. A match has the type, all the
// tags and the name of the request, and is not in the state.
func (s *State) findInAWS(left *Leftover, tagged []owned.Resource) {
	r := left.operation.Resource
	kind, ok := kindOf(r.Type)
	if !ok {
		left.Status, left.ID, left.Note = withoutTags(r)
		return
	}
	var requested map[string]string
	// Inputs without tags match by type and name.
	_ = json.Unmarshal(r.Inputs["tagsAll"], &requested)
	held, name := s.ids(), nameOf(r)
	var ids []string
	for _, one := range tagged {
		id := pulumiID(one)
		if one.Kind() != kind || name != "" && id != name || !contains(one.Tags, requested) ||
			slices.Contains(held, id) && name == "" {
			continue
		}
		ids = append(ids, id)
	}
	switch len(ids) {
	case 0:
		left.Status = Absent
	case 1:
		left.Status, left.ID = Found, ids[0]
	default:
		left.Status = Unknown
		left.Note = "one of " + strings.Join(ids, ", ") + "; delete those that you do not need"
	}
}

// contains reports whether tags holds all the wanted ones.
func contains(tags, wanted map[string]string) bool {
	for key, value := range wanted {
		if have, ok := tags[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// findInCluster looks for a Kubernetes object or a Helm release.
func findInCluster(ctx context.Context, left *Leftover, lookup Lookup) {
	r := left.operation.Resource
	var metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	}
	// Inputs without metadata are those of a release, or not those of an object.
	_ = json.Unmarshal(r.Inputs["metadata"], &metadata)
	release := strings.HasSuffix(r.Type, ":Release")
	if release {
		metadata.Name, metadata.Namespace = r.input("name"), r.input("namespace")
	}
	if metadata.Name == "" {
		left.Status, left.Note = Unknown, "its name is not in the state"
		return
	}
	left.ID = strings.TrimPrefix(metadata.Namespace+"/"+metadata.Name, "/")
	var (
		exists bool
		err    error
	)
	if release {
		var revisions []string
		revisions, err = lookup.Release(ctx, metadata.Namespace, metadata.Name)
		exists = len(revisions) > 0
		left.Unfinished = slices.ContainsFunc(revisions,
			func(status string) bool { return strings.HasPrefix(status, "pending-") })
		if left.Unfinished {
			left.Note = "Helm does not continue an installation that was killed; by hand: helm uninstall " +
				metadata.Name + " -n " + metadata.Namespace
		}
	} else {
		exists, err = lookup.Object(ctx, kubectlKind(r.Type), metadata.Namespace, metadata.Name)
	}
	switch {
	case err != nil:
		left.Status, left.Note = Unknown, err.Error()
	case exists:
		left.Status = Found
	default:
		left.Status, left.ID = Absent, ""
	}
}

// kubectlKind turns kubernetes:ray.io/v1:RayCluster into raycluster.v1.ray.io.
func kubectlKind(token string) string {
	parts := strings.Split(token, ":")
	group, version, _ := strings.Cut(parts[1], "/")
	kind := strings.ToLower(parts[len(parts)-1])
	if group == "core" {
		return kind
	}
	return kind + "." + version + "." + group
}
