package owned

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/toolchain"
)

const testRegion = "us-east-2"

// startMoto starts moto's server, an implementation of AWS's APIs that is not this project's, and
// makes it the endpoint of the AWS SDK. It returns the endpoint.
func startMoto(t *testing.T) string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(),
		filepath.Join(root, "bin", "cloud-judges", "bin", "moto_server"), "-H", "127.0.0.1", "-p", "0")
	log, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start(), "next: make judges")
	lines := bufio.NewScanner(log)
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	endpoint := ""
	for endpoint == "" && lines.Scan() {
		endpoint = address.FindString(lines.Text())
	}
	require.NotEmpty(t, endpoint, "the server names its address")
	go io.Copy(io.Discard, log) //nolint:errcheck // the log of requests
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return endpoint
}

// createVPC creates a VPC with two tags.
func createVPC(t *testing.T, endpoint, project, stack string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(url.Values{
		"Action": {"CreateVpc"}, "Version": {"2016-11-15"}, "CidrBlock": {"10.0.0.0/16"},
		"TagSpecification.1.ResourceType": {"vpc"},
		"TagSpecification.1.Tag.1.Key":    {"project"}, "TagSpecification.1.Tag.1.Value": {project},
		"TagSpecification.1.Tag.2.Key": {"stack"}, "TagSpecification.1.Tag.2.Value": {stack},
	}.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	// moto reads service and region from the scope of the signature and does not check the signature.
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/"+testRegion+"/ec2/aws4_request")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// createKey creates a KMS key of stack dev and returns its id.
func createKey(t *testing.T) (*kms.Client, string) {
	t.Helper()
	loaded, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(testRegion))
	require.NoError(t, err)
	client := kms.NewFromConfig(loaded)
	created, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{Tags: []kmstypes.Tag{
		{TagKey: aws.String("project"), TagValue: aws.String("ray")},
		{TagKey: aws.String("stack"), TagValue: aws.String("dev")},
	}})
	require.NoError(t, err)
	return client, aws.ToString(created.KeyMetadata.KeyId)
}

func TestLeftListsWhatCarriesTheTags(t *testing.T) {
	endpoint := startMoto(t)
	createVPC(t, endpoint, "ray", "prod")
	createVPC(t, endpoint, "other", "dev")
	left, err := Left(t.Context(), testRegion, StackTags("ray", "dev"))
	require.NoError(t, err)
	assert.Empty(t, left, "another stack, another project")

	// A page of the API has 50 resources.
	for range 55 {
		createVPC(t, endpoint, "ray", "dev")
	}
	_, kept := createKey(t)
	client, deleted := createKey(t)
	_, err = client.ScheduleKeyDeletion(t.Context(), &kms.ScheduleKeyDeletionInput{KeyId: &deleted})
	require.NoError(t, err)
	left, err = Left(t.Context(), testRegion, StackTags("ray", "dev"), StackTags("ray", "absent"))
	require.NoError(t, err)
	require.Len(t, left, 56)
	var keys []string
	for _, one := range left {
		assert.Equal(t, StackTags("ray", "dev"), one.Tags)
		if one.Kind() == "kms/key" {
			keys = append(keys, one.ID())
			continue
		}
		assert.Equal(t, "ec2/vpc", one.Kind())
		assert.Regexp(t, `^vpc-[0-9a-f]{17}$`, one.ID())
	}
	assert.Equal(t, []string{kept}, keys, "a key that is pending deletion costs nothing")

	left, err = Left(t.Context(), "us-west-2", StackTags("ray", "dev"))
	require.NoError(t, err)
	assert.Empty(t, left, "another region")
}

func TestLeftReportsARefusal(t *testing.T) {
	endpoint := startMoto(t)
	t.Setenv("AWS_ENDPOINT_URL", endpoint+"/absent")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	_, err := Left(t.Context(), testRegion, StackTags("ray", "dev"))
	require.ErrorContains(t, err, "listing the resources with the stack's tags in us-east-2")
}
