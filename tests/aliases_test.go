package tests

import (
	"os"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Resources of earlier releases must be kept: each of their URNs is a current URN or an alias.
func TestURNsOfEarlierStacksAreKept(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/urns-formerly.txt")
	require.NoError(t, err)
	r := green(t, options{})
	kept := map[string]bool{}
	for _, made := range r.all() {
		kept[made.urn] = true
		for _, urn := range r.formerURNs(made) {
			kept[urn] = true
		}
	}
	for urn := range strings.Lines(string(text)) {
		assert.True(t, kept[strings.TrimSpace(urn)], "an update would delete %s", urn)
	}
}

// formerURNs are the aliases that the engine derives from a resource's own and its component's. It
// changes the beginning of a child's name where that is its component's name.
// Source: pulumi/pkg/resource/deploy, inheritedChildAlias.
func (r run) formerURNs(made registration) []string {
	var urns []string
	for _, alias := range made.aliases {
		urns = append(urns, urnOf(made.parent, alias.GetSpec().GetType(), alias.GetSpec().GetName()))
	}
	parent, ok := r.seen[made.parent]
	if !ok {
		return urns
	}
	for _, former := range r.formerURNs(parent) {
		name := made.name
		if rest, derived := strings.CutPrefix(name, parent.name); derived {
			name = resource.URN(former).Name() + rest
		}
		urns = append(urns, urnOf(former, made.typ, name))
	}
	return urns
}
