package capacity

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEFATypesAreInOrderAndHaveGPUsAndEFA(t *testing.T) {
	t.Parallel()
	types := EFATypes()
	assert.True(t, slices.IsSortedFunc(types, func(a, b InstanceType) int {
		return strings.Compare(a.Name, b.Name)
	}))
	for _, one := range types {
		assert.Positive(t, one.GPUs, one.Name)
		assert.Positive(t, one.EFAInterfaces, one.Name)
		assert.GreaterOrEqual(t, one.NetworkCards, one.EFAInterfaces, one.Name)
		assert.Positive(t, one.MemoryMiB, one.Name)
	}
}

func TestNearestTypesWithEFA(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		to   InstanceType
		want []string
	}{
		{"of the family", InstanceType{Name: "g6.xlarge", GPUs: 1}, []string{
			"g6.8xlarge (GPUs: 1, $2.01 an hour)", "g6.16xlarge (GPUs: 1, $3.40 an hour)",
			"g6.12xlarge (GPUs: 4, $4.60 an hour)",
		}},
		{"of no family with EFA", InstanceType{Name: "p3.8xlarge", GPUs: 4}, []string{
			"g4dn.12xlarge (GPUs: 4, $3.91 an hour)", "g6.12xlarge (GPUs: 4, $4.60 an hour)",
			"g5.12xlarge (GPUs: 4, $5.67 an hour)",
		}},
		{"without GPUs", InstanceType{Name: "m7i.xlarge"}, []string{
			"g6.8xlarge (GPUs: 1, $2.01 an hour)", "g4dn.8xlarge (GPUs: 1, $2.18 an hour)",
			"g5.8xlarge (GPUs: 1, $2.45 an hour)",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, nearest(test.to))
		})
	}
}
