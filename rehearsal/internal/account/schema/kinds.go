package schema

import (
	"fmt"
	"sort"
	"strings"
)

// Kinds are resource types by token.
type Kinds map[string]Kind

// Lookup returns the kind of a token, or an error that names those known to the service.
func (k Kinds) Lookup(token string) (Kind, error) {
	if kind, ok := k[token]; ok {
		return kind, nil
	}
	service, _, _ := strings.Cut(token, "/")
	var near []string
	for known := range k {
		if strings.HasPrefix(known, service+"/") {
			near = append(near, known)
		}
	}
	sort.Strings(near)
	if len(near) == 0 {
		return Kind{}, fmt.Errorf(
			"resource type %q is not part of the emulated AWS account, nor is anything of %q",
			token, service)
	}
	return Kind{}, fmt.Errorf(
		"resource type %q is not part of the emulated AWS account; of %q it knows: %s", token,
		service, strings.Join(near, ", "))
}
