package recovery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// creating is the type of a pending operation that was creating a resource. Source: pulumi's
// OperationTypeCreating.
const creating = "creating"

// State is the exported state of a stack. What this package does not read is kept as it is.
type State struct {
	document, deployment map[string]json.RawMessage
	resources            []json.RawMessage
	known                []resource
	pending              []operation
}

// resource is the part of a resource's state that this package reads.
type resource struct {
	URN     string                     `json:"urn"`
	ID      string                     `json:"id"`
	Type    string                     `json:"type"`
	Custom  bool                       `json:"custom"`
	Inputs  map[string]json.RawMessage `json:"inputs"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}

// name returns the resource's name in the program.
func (r resource) name() string { return r.URN[strings.LastIndex(r.URN, "::")+2:] }

// input returns an input that is text, and "" for any other.
func (r resource) input(name string) string { return text(r.Inputs[name]) }

func text(raw json.RawMessage) string {
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return value
}

// operation is a pending operation: one that a killed engine had begun.
type operation struct {
	Type string `json:"type"`
	// raw is the whole resource, Resource the part that is read.
	raw      json.RawMessage
	Resource resource
}

func (o *operation) UnmarshalJSON(data []byte) error {
	var stored struct {
		Type     string          `json:"type"`
		Resource json.RawMessage `json:"resource"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	o.Type, o.raw = stored.Type, stored.Resource
	return json.Unmarshal(stored.Resource, &o.Resource)
}

// ReadState decodes the output of `pulumi stack export`.
func ReadState(exported []byte) (*State, error) {
	s := &State{}
	if err := json.Unmarshal(exported, &s.document); err != nil {
		return nil, fmt.Errorf("decoding the exported state: %w", err)
	}
	if err := json.Unmarshal(s.document["deployment"], &s.deployment); err != nil {
		return nil, fmt.Errorf("decoding the exported state: %w", err)
	}
	for key, into := range map[string][]any{
		"resources": {&s.resources, &s.known}, "pending_operations": {&s.pending},
	} {
		raw, ok := s.deployment[key]
		if !ok {
			continue
		}
		for _, one := range into {
			if err := json.Unmarshal(raw, one); err != nil {
				return nil, fmt.Errorf("decoding %s of the exported state: %w", key, err)
			}
		}
	}
	return s, nil
}

// ids returns the ids of all resources of the state.
func (s *State) ids() []string {
	var ids []string
	for _, one := range s.known {
		ids = append(ids, one.ID)
	}
	return ids
}

// has reports whether the state holds a resource with that URN.
func (s *State) has(urn string) bool {
	return slices.ContainsFunc(s.known, func(r resource) bool { return r.URN == urn })
}

// status returns the output `status` of a resource, such as CREATING; "" when it has none.
func (s *State) status(urn string) string {
	for _, one := range s.known {
		if one.URN == urn {
			return text(one.Outputs["status"])
		}
	}
	return ""
}

// resolve returns the state in which the leftovers that were found are resources. It has no pending
// operations: `pulumi stack import` would drop those that were creating.
func (s *State) resolve(leftovers []Leftover) ([]byte, error) {
	resources := slices.Clone(s.resources)
	for _, left := range leftovers {
		if left.Status != Found {
			continue
		}
		adopted, err := left.adopt()
		if err != nil {
			return nil, err
		}
		resources = append(resources, adopted)
	}
	deployment := map[string]json.RawMessage{}
	for key, value := range s.deployment {
		deployment[key] = value
	}
	document := map[string]json.RawMessage{}
	for key, value := range s.document {
		document[key] = value
	}
	for _, part := range []struct {
		in    map[string]json.RawMessage
		key   string
		value any
	}{
		{deployment, "resources", resources}, {deployment, "pending_operations", []operation{}},
		{document, "deployment", deployment},
	} {
		encoded, err := json.Marshal(part.value)
		if err != nil {
			return nil, fmt.Errorf("encoding the edited state: %w", err)
		}
		part.in[part.key] = encoded
	}
	return json.Marshal(document)
}

// adopt returns the leftover as a resource of the state. Its inputs stand in for its outputs, so that
// the next refresh reads it as a resource that is known, and keeps inputs that AWS does not return.
func (l Leftover) adopt() (json.RawMessage, error) {
	var adopted map[string]json.RawMessage
	if err := json.Unmarshal(l.operation.raw, &adopted); err != nil {
		return nil, fmt.Errorf("decoding the pending operation of %q: %w", l.URN, err)
	}
	outputs := map[string]json.RawMessage{}
	for key, value := range l.operation.Resource.Inputs {
		if key != "__defaults" {
			outputs[key] = value
		}
	}
	for key, value := range map[string]any{"id": l.ID, "outputs": outputs, "delete": l.Replacement} {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encoding %s of %q: %w", key, l.URN, err)
		}
		adopted[key] = encoded
	}
	if !l.Replacement {
		delete(adopted, "delete")
	}
	return json.Marshal(adopted)
}
