package refusal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/refusal"
	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

func full() *refusal.Refusal {
	return &refusal.Refusal{
		Code: "not-efa", Summary: "refused: verdict not-efa", Context: []string{"job:      train-a1 SUCCEEDED"},
		Cause: "NCCL used sockets", Evidence: "rank0.log:39: NET/Socket", Output: []string{"Traceback"},
		Next: "pulumi up", Also: []string{"plugin-not-found: rank1.log"}, ReportPath: "evidence/report.txt",
		Billing: "now $9.55 per hour until `pulumi destroy`",
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, strings.Join([]string{
		"refused: verdict not-efa",
		"job:      train-a1 SUCCEEDED",
		"cause:    NCCL used sockets",
		"evidence: rank0.log:39: NET/Socket",
		"last lines of the job's output:",
		"  | Traceback",
		"next:     pulumi up",
		"also:     plugin-not-found: rank1.log",
		"report:   evidence/report.txt",
		"billing:  now $9.55 per hour until `pulumi destroy`",
	}, "\n"), full().Error())
	assert.Equal(t, "refused\nnext:     pulumi up", (&refusal.Refusal{Summary: "refused", Next: "pulumi up"}).Error())
}

func TestTextFitsTheScreen(t *testing.T) {
	t.Parallel()
	r := full()
	r.Evidence, r.Cause = "\x1b[31m"+strings.Repeat("long\n", 500), strings.Repeat("c", 2*screen.Columns)
	for range 2 * screen.Lines {
		r.Also = append(r.Also, "another")
	}
	lines := strings.Split(r.Error(), "\n")
	assert.Len(t, lines, screen.Lines)
	assert.Contains(t, r.Error(), "cause:    "+r.Cause, "a cause is never cut")
	assert.Equal(t, "billing:  "+r.Billing, lines[len(lines)-1])
	assert.NotContains(t, r.Error(), "\x1b")
}

func TestJSONHoldsEveryField(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(full())
	require.NoError(t, err)
	var back refusal.Refusal
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, full(), &back)
}

func TestAll(t *testing.T) {
	t.Parallel()
	a, b, c := &refusal.Refusal{Code: "a"}, &refusal.Refusal{Code: "b"}, &refusal.Refusal{Code: "c"}
	for _, test := range []struct {
		name string
		in   error
		want []*refusal.Refusal
	}{
		{"none", nil, nil},
		{"another error", errors.New("boom"), nil},
		{"one", a, []*refusal.Refusal{a}},
		{"wrapped", fmt.Errorf("checking: %w", a), []*refusal.Refusal{a}},
		{"joined, in order", errors.Join(b, errors.New("boom"), fmt.Errorf("x: %w", errors.Join(a, c))), []*refusal.Refusal{b, a, c}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, refusal.All(test.in))
		})
	}
}
