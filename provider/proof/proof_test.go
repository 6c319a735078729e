package proof_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/provider/proof"
)

func hash(t *testing.T, subject proof.Subject) string {
	t.Helper()
	text, err := proof.Hash(subject)
	require.NoError(t, err)
	return text
}

// fill sets the leaf number want (counted depth first) to something, or counts
// the leaves when want is negative.
func fill(value reflect.Value, next *int, want int) {
	if value.Kind() == reflect.Struct {
		for i := range value.NumField() {
			fill(value.Field(i), next, want)
		}
		return
	}
	if *next == want {
		switch value.Kind() {
		case reflect.String:
			value.SetString("changed")
		case reflect.Int:
			value.SetInt(99)
		case reflect.Float64:
			value.SetFloat(9.9)
		case reflect.Bool:
			value.SetBool(true)
		case reflect.Map:
			value.Set(reflect.ValueOf(map[string]string{"changed": "1"}))
		}
	}
	*next++
}

func TestEveryFieldCounts(t *testing.T) {
	t.Parallel()
	leaves := 0
	fill(reflect.ValueOf(&proof.Subject{}).Elem(), &leaves, -1)
	require.Greater(t, leaves, 20)
	seen := map[string]int{hash(t, proof.Subject{}): -1}
	for i := range leaves {
		var subject proof.Subject
		next := 0
		fill(reflect.ValueOf(&subject).Elem(), &next, i)
		text := hash(t, subject)
		before, taken := seen[text]
		assert.False(t, taken, "leaf %d hashes like leaf %d", i, before)
		seen[text] = i
	}
}

func TestOnlyMeaningCounts(t *testing.T) {
	t.Parallel()
	a := proof.Subject{RayClusterSpec: `{"a": 1, "b": [2]}`, Environment: map[string]string{"x": "1", "y": "2"}}
	b := proof.Subject{RayClusterSpec: `{"b":[2],"a":1}`, Environment: map[string]string{"y": "2", "x": "1"}}
	assert.Equal(t, hash(t, a), hash(t, b))
	b.RayClusterSpec = `{"b":[2],"a":2}`
	assert.NotEqual(t, hash(t, a), hash(t, b))
	assert.NotEqual(t, hash(t, proof.Subject{RayClusterSpec: "abc"}), hash(t, proof.Subject{RayClusterSpec: "abd"}))
}
