package ec2

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// filter is a filter of an EC2 Describe call.
type filter struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// filterNames returns the names that match a filter. keys returns the value for a filter's name,
// and false for a filter that the rehearsal does not support.
func filterNames(names []string, filters []filter,
	value func(name, key string) (string, bool)) ([]string, error) {
	kept := []string{}
	for _, name := range names {
		keep := true
		for _, f := range filters {
			v, known := value(name, f.Name)
			if !known {
				return nil, api.Errorf("InvalidParameterValue",
					"The filter '%s' is invalid (a rehearsal does not know it)", f.Name)
			}
			keep = keep &&
				slices.ContainsFunc(f.Values,
					func(wanted string) bool { return matchesWildcard(wanted, v) })
		}
		if keep {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

// matchesWildcard compares with EC2's * at either end of a filter's value.
func matchesWildcard(wanted, value string) bool {
	if prefix, ok := strings.CutSuffix(wanted, "*"); ok {
		return strings.HasPrefix(value, prefix)
	}
	return wanted == value
}

// hasTags reports whether tags contains all wanted tags.
func hasTags(tags, wanted map[string]string) bool {
	for key, value := range wanted {
		if tags[key] != value {
			return false
		}
	}
	return true
}

// exactlyOne returns pulumi-aws's error for a lookup with no or several results.
func exactlyOne(what string, found []string) error {
	switch len(found) {
	case 1:
		return nil
	case 0:
		return api.Errorf("NotFound", "no matching %s found", what).WithStatus(404)
	default:
		return api.Errorf("TooManyResults",
			"multiple %ss matched; use additional constraints to reduce matches to a single %s",
			what, what)
	}
}
