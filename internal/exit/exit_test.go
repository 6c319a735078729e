package exit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/internal/exit"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		code int
		says string
	}{
		{"green", nil, 0, ""},
		{"any error", errors.New("no such file"), 1, "raytrain: no such file\n"},
		{"terminal commands", errors.New("stat a\x1b[31mb\u009b2Jc\x07\nand more"), 1, "raytrain: stat ab2Jc\nand more\n"},
		{"a verdict, already printed", &exit.Error{Code: 4}, 4, ""},
		{"a status with a cause", &exit.Error{Code: 3, Err: errors.New("a KMS key is left")}, 3, "raytrain: a KMS key is left\n"},
		{"a wrapped one", fmt.Errorf("rehearsing: %w", &exit.Error{Code: 2, Err: errors.New("refused")}), 2, "raytrain: rehearsing: refused\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			assert.Equal(t, c.code, exit.Status(&b, c.err))
			assert.Equal(t, c.says, b.String())
		})
	}
}
