package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNICs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		efa, cards int
		want       []NIC
	}{
		{"g6.12xlarge: one card", 1, 1, []NIC{{0, 0, EFA}}},
		{"g6e.24xlarge: two cards", 2, 2, []NIC{{0, 0, EFA}, {1, 1, EFAOnly}}},
		{"p4d.24xlarge: four cards", 4, 4, []NIC{{0, 0, EFA}, {1, 1, EFAOnly}, {2, 1, EFAOnly}, {3, 1, EFAOnly}}},
		{"card 0 without EFA", 1, 2, []NIC{{0, 0, ENA}, {1, 1, EFAOnly}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := NICs(test.efa, test.cards)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestNICsWithoutLayout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		efa, cards int
	}{
		{"no EFA", 0, 1}, {"no card", 1, 0}, {"more interfaces than cards", 2, 1}, {"several cards without EFA", 1, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := NICs(test.efa, test.cards)
			require.ErrorIs(t, err, ErrLayout)
		})
	}
}
