package attempt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/jobs"
)

// Change is a named value of a proof that differs between two runs.
type Change struct {
	// Name is the value's, such as "environment.NCCL_NET" or
	// "rayClusterSpec.headGroupSpec.rayStartParams".
	Name string
	// From and To are JSON; empty where the value is not set.
	From, To string
}

// Changes returns what differs between the proofs of two runs, in order of name. A revision of the
// code that is empty is unknown and equals any other.
func Changes(before, after jobs.Inputs, was, is Code) []Change {
	if was.Revision == "" {
		was.Revision = is.Revision
	}
	from, to := leaves(proofValues(before, was)), leaves(proofValues(after, is))
	var changes []Change
	names := maps.Clone(from)
	maps.Copy(names, to)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if from[name] != to[name] {
			changes = append(changes, Change{Name: name, From: from[name], To: to[name]})
		}
	}
	return changes
}

// leaves returns the JSON of every value by name. The RayCluster's spec is one value for the hash,
// but too long to show: each of its members has a name of its own here.
func leaves(values []value) map[string]string {
	found := map[string]string{}
	for _, v := range values {
		text, isText := v.value.(string)
		var spec map[string]json.RawMessage
		switch {
		case v.isUnset():
		case v.name == specName && isText && json.Unmarshal([]byte(text), &spec) == nil:
			addMembers(found, v.name, json.RawMessage(text))
		default:
			encoded, err := json.Marshal(v.value)
			found[v.name] = cmp.Or(string(encoded), fmt.Sprint(err))
		}
	}
	return found
}

// addMembers adds each member of a JSON value that is neither an object nor a list.
func addMembers(found map[string]string, name string, value json.RawMessage) {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(value, &object) == nil && len(object) > 0:
		for key, member := range object {
			addMembers(found, name+"."+key, member)
		}
	case json.Unmarshal(value, &list) == nil && len(list) > 0:
		for i, member := range list {
			addMembers(found, fmt.Sprintf("%s[%d]", name, i), member)
		}
	default:
		found[name] = string(value)
	}
}
