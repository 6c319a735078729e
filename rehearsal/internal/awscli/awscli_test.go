package awscli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/awscli"
)

// fakeAccount records what it is asked for.
type fakeAccount struct {
	asked api.TokenRequest
	err   error
	// status is the cluster's; "" means ACTIVE.
	status string
}

func (f *fakeAccount) Token(_ context.Context, request api.TokenRequest) (api.TokenResponse, error) {
	f.asked = request
	return api.TokenResponse{Token: "k8s-aws-v1.x", Expiration: "2026-11-30T04:14:00Z"}, f.err
}

func (f *fakeAccount) Invoke(_ context.Context,
	request api.InvokeRequest) (json.RawMessage, error) {
	if request.Token == "aws:eks/getCluster:getCluster" {
		status := f.status
		if status == "" {
			status = "ACTIVE"
		}
		return json.RawMessage(
			`{"name":"c","arn":"arn:aws:eks:us-east-2:111122223333:cluster/c","endpoint":"https://127.0.0.2",` +
				`"certificateAuthorities":[{"data":"Q0E="}],"status":"` + status + `","version":"` + eks.DefaultVersion() + `"}`,
		), f.err
	}
	return json.RawMessage(
		`{"accountId":"111122223333","arn":"arn:aws:iam::111122223333:user/rehearsal","userId":"U"}`), f.err
}

func TestRun(t *testing.T) {
	t.Setenv("KUBERNETES_EXEC_INFO", "")
	t.Setenv("AWS_REGION", "us-east-2")
	const credential = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{},` +
		`"status":{"expirationTimestamp":"2026-11-30T04:14:00Z","token":"k8s-aws-v1.x"}}` + "\n"
	for _, test := range []struct {
		name   string
		args   []string
		err    error
		want   int
		stdout string
		stderr string
		asked  api.TokenRequest
	}{
		{name: "version", args: []string{"--version"}, stdout: awscli.Version + "\n"},
		{
			name:   "token",
			args:   []string{"eks", "get-token", "--cluster-name", "c", "--output", "json"},
			stdout: credential, asked: api.TokenRequest{ClusterName: "c", Region: "us-east-2"},
		},
		{
			name:   "token with everything",
			args:   []string{"--region=eu-west-1", "eks", "get-token", "--cluster-name=c", "--role-arn", "r"},
			stdout: credential,
			asked:  api.TokenRequest{ClusterName: "c", Region: "eu-west-1", RoleARN: "r"},
		},
		{name: "token without a cluster", args: []string{"eks", "get-token"}, want: 252, stderr: "--cluster-name"},
		{name: "description without a name", args: []string{"eks", "describe-cluster"}, want: 252, stderr: "--name"},
		{
			name: "description",
			args: []string{"eks", "describe-cluster", "--name", "c", "--region", "us-east-2", "--output", "json"},
			stdout: `{"cluster":{"name":"c","arn":"arn:aws:eks:us-east-2:111122223333:cluster/c","endpoint":"https://127.0.0.2",` +
				`"certificateAuthority":{"data":"Q0E="},"status":"ACTIVE","version":"` + eks.DefaultVersion() + `"}}` + "\n",
		},
		{
			name: "a cluster that is gone",
			args: []string{"eks", "describe-cluster", "--name", "c"},
			err:  &api.Error{Operation: "EKS: DescribeCluster", Code: "ResourceNotFoundException", Message: "No cluster found for name: c."},
			want: 254, stderr: "An error occurred (ResourceNotFoundException) when calling the " +
				"DescribeCluster operation",
		},
		{name: "unknown command", args: []string{"ec2", "run-instances"}, want: 252, stderr: "ec2 run-instances"},
		{name: "unknown option", args: []string{"eks", "get-token", "--query", "x"}, want: 252, stderr: "--query"},
		{name: "option without a value", args: []string{"eks", "get-token", "--cluster-name"}, want: 252, stderr: "needs a value"},
		{name: "other output", args: []string{"eks", "get-token", "--cluster-name", "c", "--output", "text"}, want: 252, stderr: "only json"},
		{
			name: "refused by AWS",
			args: []string{"eks", "get-token", "--cluster-name", "c", "--role-arn", "r"},
			err:  &api.Error{Operation: "STS: AssumeRole", Code: "AccessDenied", Message: "no"},
			want: 254, stderr: "An error occurred (AccessDenied) when calling the AssumeRole " +
				"operation: no",
			asked: api.TokenRequest{ClusterName: "c", Region: "us-east-2", RoleARN: "r"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			account := &fakeAccount{err: test.err}
			status := awscli.Command{
				Args: test.args, Stdout: &stdout, Stderr: &stderr,
				Connect: func() (awscli.Account, error) { return account, nil },
			}.Run(context.Background())
			assert.Equal(t, test.want, status)
			assert.Equal(t, test.stdout, stdout.String())
			assert.Contains(t, stderr.String(), test.stderr)
			assert.Equal(t, test.asked, account.asked)
		})
	}
}

func TestRunWithoutRehearsal(t *testing.T) {
	var stderr bytes.Buffer
	status := awscli.Command{
		Args: []string{
			"eks",
			"get-token",
			"--cluster-name",
			"c",
		}, Stdout: &bytes.Buffer{}, Stderr: &stderr,
		Connect: func() (awscli.Account, error) {
			return nil, errors.New("no rehearsal is running")
		},
	}.Run(context.Background())
	require.Equal(t, 255, status)
	assert.Contains(t, stderr.String(), "no rehearsal is running")
}

// TestUpdateKubeconfig expects an entry for the cluster in addition to the file's content.
func TestUpdateKubeconfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", path)
	t.Setenv("AWS_REGION", "us-east-2")
	other := clientcmdapi.NewConfig()
	other.Clusters["mine"] = &clientcmdapi.Cluster{Server: "https://127.0.0.9"}
	require.NoError(t, clientcmd.WriteToFile(*other, path))

	run := func(account *fakeAccount) (status int, said string) {
		var out bytes.Buffer
		status = awscli.Command{
			Args: []string{"eks", "update-kubeconfig", "--name", "c"}, Stdout: &out, Stderr: &out,
			Connect: func() (awscli.Account, error) { return account, nil },
		}.Run(t.Context())
		return status, out.String()
	}
	status, said := run(&fakeAccount{status: "CREATING"})
	assert.Equal(t, 255, status)
	assert.Contains(t, said, "its status is CREATING")

	status, said = run(&fakeAccount{})
	const arn = "arn:aws:eks:us-east-2:111122223333:cluster/c"
	assert.Equal(t, 0, status, said)
	assert.Contains(t, said, "Added new context "+arn)
	written, err := clientcmd.LoadFromFile(path)
	require.NoError(t, err)
	assert.Equal(t, arn, written.CurrentContext)
	assert.Equal(t, "https://127.0.0.9", written.Clusters["mine"].Server)
	assert.Equal(t, "https://127.0.0.2", written.Clusters[arn].Server)
	assert.Equal(t, []byte("CA"), written.Clusters[arn].CertificateAuthorityData)
	assert.Equal(
		t,
		[]string{
			"--region",
			"us-east-2",
			"eks",
			"get-token",
			"--cluster-name",
			"c",
			"--output",
			"json",
		},
		written.AuthInfos[arn].Exec.Args,
	)
	assert.Empty(t, written.AuthInfos[arn].Token)
}
