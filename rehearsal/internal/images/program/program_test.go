package program

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/nodefacts"
)

func TestRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		in     []string
		node   *nodefacts.Facts
		want   int
		output string
	}{
		{"an EFA interface", []string{"efa-device-plugin"},
			&nodefacts.Facts{Node: "n1", EFAInterfaces: 1}, 0, `1 EFA interface(s) on node "n1"`},
		{"no EFA interface", []string{"efa-device-plugin"},
			&nodefacts.Facts{Node: "n1",
				InstanceType: "g6.12xlarge"}, 1, "No valid EFA devices found"},
		{"no facts about the node", []string{"efa-device-plugin"}, nil, 1, "node-facts.json"},
		{"GPUs", []string{"nvidia-device-plugin", "--flag"}, &nodefacts.Facts{Node: "n1", GPUs: 4}, 0,
			"4 GPU(s)"},
		{"no GPU", []string{"nvidia-device-plugin"}, &nodefacts.Facts{Node: "n1"}, 0, "waiting"},
		{"GPUs without facts", []string{"nvidia-device-plugin"}, nil, 1, "node-facts.json"},
		{"an add-on", []string{"coredns", "-conf", "x"}, nil, 0, "placeholder"},
		{"sleep", []string{"sleep"}, nil, 0, "placeholder"},
		{"unknown", []string{"nginx"}, nil, 1,
			`unknown program "nginx"; allowed: nvidia-device-plugin`},
		{"none", nil, nil, 1, "missing program"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if test.node != nil {
				require.NoError(t, test.node.Write(dir))
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // A program that stays up ends at once, with status 0.
			var output bytes.Buffer
			assert.Equal(t, test.want, run(ctx, test.in, dir, &output, &output))
			assert.Contains(t, output.String(), test.output)
		})
	}
}
