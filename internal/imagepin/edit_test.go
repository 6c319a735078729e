package imagepin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	const digest = "sha256:aa"
	tests := []struct {
		name, in, want string
	}{
		{
			name: "adds below the last setting and keeps the rest",
			in:   "# Stack.\nencryptionsalt: v1:x\n\nconfig:\n  # Where.\n  ray-train-efa:awsRegion: us-east-2 # Ohio\n\n  ray-train-efa:cidrs:\n    - 10.0.0.0/8\n# The end.\n",
			want: "# Stack.\nencryptionsalt: v1:x\n\nconfig:\n  # Where.\n  ray-train-efa:awsRegion: us-east-2 # Ohio\n\n  ray-train-efa:cidrs:\n    - 10.0.0.0/8\n  ray-train-efa:imageDigest: sha256:aa\n# The end.\n",
		},
		{
			name: "replaces a value and keeps its comment",
			in:   "config:\n    ray-train-efa:imageDigest: \"sha256:bb\" # pinned in May\n    ray-train-efa:awsRegion: us-east-2\n",
			want: "config:\n    ray-train-efa:imageDigest: sha256:aa # pinned in May\n    ray-train-efa:awsRegion: us-east-2\n",
		},
		{
			name: "does not change a value that is right",
			in:   "config:\n  ray-train-efa:imageDigest:   'sha256:aa'\n",
			want: "config:\n  ray-train-efa:imageDigest:   'sha256:aa'\n",
		},
		{
			name: "an empty file",
			in:   "",
			want: "config:\n  ray-train-efa:imageDigest: sha256:aa\n",
		},
		{
			name: "emptied by Pulumi",
			in:   "{}\n",
			want: "config:\n  ray-train-efa:imageDigest: sha256:aa\n",
		},
		{
			name: "only a comment, without a line end",
			in:   "# nothing yet",
			want: "# nothing yet\nconfig:\n  ray-train-efa:imageDigest: sha256:aa\n",
		},
		{
			name: "no config",
			in:   "encryptionsalt: v1:x",
			want: "encryptionsalt: v1:x\nconfig:\n  ray-train-efa:imageDigest: sha256:aa\n",
		},
		{
			name: "an empty config",
			in:   "config:\nencryptionsalt: v1:x\n",
			want: "config:\n  ray-train-efa:imageDigest: sha256:aa\nencryptionsalt: v1:x\n",
		},
		{
			name: "a block of text at the end",
			in:   "config:\n  ray-train-efa:note: |\n    one\n    two\nbackend: x\n",
			want: "config:\n  ray-train-efa:note: |\n    one\n    two\n  ray-train-efa:imageDigest: sha256:aa\nbackend: x\n",
		},
		{
			name: "a secret at the end",
			in:   "config:\n  ray-train-efa:key:\n    secure: v1:abc\n",
			want: "config:\n  ray-train-efa:key:\n    secure: v1:abc\n  ray-train-efa:imageDigest: sha256:aa\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := edit([]byte(test.in), []setting{{DigestKey, digest}})
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got))
			again, err := edit(got, []setting{{DigestKey, digest}})
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again))
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"not YAML", "config: [", "reading it as YAML"},
		{"a list", "- a\n", "not a YAML mapping"},
		{"config in braces", "config: {a: b}\n", "in braces"},
		{"config as text", "config: text\n", "not a mapping"},
		{"a mapping where the digest belongs", "config:\n  ray-train-efa:imageDigest:\n    secure: x\n", "not a value on one line"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := edit([]byte(test.in), []setting{{DigestKey, "sha256:aa"}})
			require.ErrorContains(t, err, test.want)
		})
	}
}
