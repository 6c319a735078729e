package finding_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
)

// TestExplain checks that every code has complete texts and a unique name.
func TestExplain(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range finding.Codes() {
		name := c.String()
		assert.Regexp(t, regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), name)
		assert.False(t, seen[name], name)
		seen[name] = true
		e, ok := finding.Explain(name)
		require.True(t, ok, name)
		assert.Equal(t, name, e.Code)
		severity, cause, next := c.Describe(finding.Plain)
		assert.Equal(t, severity, e.Severity, name)
		assert.Equal(t, cause, e.Meaning, name)
		assert.Equal(t, next, e.Next, name)
		assert.NotEmpty(t, e.How, name)
		assert.NotEmpty(t, e.Sources, name)
	}
	_, ok := finding.Explain("no-such-code")
	assert.False(t, ok)
	assert.LessOrEqual(t, len(finding.Codes()), 128, "a process keeps its codes in 128 bits")
}
