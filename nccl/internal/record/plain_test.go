package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"no escape", "no escape"},
		{"\x1b[36m(Worker pid=7)\x1b[0m node-1:7:7", "(Worker pid=7) node-1:7:7"},
		{"via \x1b[01;31m\x1b[KNET\x1b[m\x1b[K/Socket/0", "via NET/Socket/0"},
		{"a\u00a0b\u00e9", "a b\u00e9"},
		{"cut \x1b[1\nnext line", "cut \x1b[1\nnext line"},
		{"cut \x1b[1] device", "cut \x1b[1] device"},
		{"end \x1b[0", "end \x1b[0"},
		{"end \x1b", "end \x1b"},
		{"end \xc2", "end \xc2"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, string(plain([]byte(tt.in))))
	}
}
