package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnprefixedVersion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"NCCL version 2.29.7+cuda13.0\n":              1,
		"[1,0]<stdout>:NCCL version 2.4.8+cuda10.1\n": 1,
		"torch.distributed.DistBackendError: unhandled error (run with NCCL_DEBUG=WARN for details), NCCL version 2.28.9\n": 0,
		"NCCL version \n": 0,
	} {
		b := &Block{}
		b.Reset([]byte(line), nil)
		NewScanner(NewGrammar()).Scan(b)
		assert.Len(t, b.Events, want, line)
	}
}
