package kube_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/provider/kube"
)

// kubeconfig uses a shell script as its aws program.
func kubeconfig(t *testing.T, script string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "aws")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700))
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"k","cluster":{"server":"https://ABC.eks.amazonaws.com"}}],
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
"users":[{"name":"u","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1beta1","command":%q,
"args":["--profile","team","eks","get-token"],"env":[{"name":"EXTRA","value":"1"}]}}}]}`, program)
}

//nolint:paralleltest // a fork of another test would hold the script open for writing: ETXTBSY
func TestPresence(t *testing.T) {
	tests := []struct {
		name, script string
		want         kube.Presence
		fails        bool
	}{
		{"there", `echo '{"cluster":{"endpoint":"https://abc.eks.amazonaws.com/"}}'`, kube.Present, false},
		{"gone", `echo "An error occurred (ResourceNotFoundException) when calling the DescribeCluster operation: No cluster found for name: x." >&2; exit 254`, kube.Gone, false},
		{"another of the same name", `echo '{"cluster":{"endpoint":"https://DEF.eks.amazonaws.com"}}'`, kube.Gone, false},
		{"no credentials", `echo "Unable to locate credentials" >&2; exit 253`, kube.Unknown, true},
		{"not JSON", `echo hello`, kube.Unknown, true},
		{
			"asked with the kubeconfig's profile and environment",
			`[ "$*" = "eks describe-cluster --name x --region r --output json --profile team" ] && [ "$EXTRA" = 1 ] && echo '{"cluster":{}}'`,
			kube.Present, false,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cluster, err := kube.Connect(kubeconfig(t, test.script))
			require.NoError(t, err)
			got, err := cluster.Presence(t.Context(), "x", "r")
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.fails, err != nil, "%v", err)
		})
	}
}

//nolint:paralleltest // as TestPresence
func TestAccount(t *testing.T) {
	cluster, err := kube.Connect(kubeconfig(t,
		`[ "$*" = "sts get-caller-identity --output json --profile team" ] && echo '{"Account":"123456789012"}'`))
	require.NoError(t, err)
	account, err := cluster.Account(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "123456789012", account)

	cluster, err = kube.Connect(kubeconfig(t, `echo "Unable to locate credentials" >&2; exit 253`))
	require.NoError(t, err)
	_, err = cluster.Account(t.Context())
	require.ErrorContains(t, err, "Unable to locate credentials")
}

func TestConnectRefusesNonsense(t *testing.T) {
	t.Parallel()
	_, err := kube.Connect("not a kubeconfig")
	require.ErrorContains(t, err, "reading the kubeconfig")
}
