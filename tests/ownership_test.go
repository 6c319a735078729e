package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryResourceHasItsComponent(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	component := map[string]bool{}
	for _, made := range r.all() {
		if strings.HasPrefix(made.typ, projectName+":") {
			component[made.urn] = true
		}
	}
	require.Len(t, component, 5)
	top := map[string]bool{"pulumi:providers:aws": true, trainingJob: true}
	for _, made := range r.all() {
		if component[made.urn] || top[made.typ] {
			continue
		}
		assert.True(t, component[made.parent], "%s has the parent %q", made.urn, made.parent)
	}
}

func TestEveryResourceCarriesOurProvider(t *testing.T) {
	t.Parallel()
	r := green(t, options{})
	cloud := r.one(t, "pulumi:providers:aws", "aws").urn + "::"
	inside := r.one(t, "pulumi:providers:kubernetes", "kubernetes").urn + "::"
	count := map[string]int{}
	for _, made := range r.all() {
		switch {
		case strings.HasPrefix(made.typ, "kubernetes:"):
			count["kubernetes"]++
			assert.True(t, strings.HasPrefix(made.provider, inside), "%s has the provider %q", made.urn, made.provider)
		case strings.HasPrefix(made.typ, "aws:"):
			count["aws"]++
			assert.True(t, strings.HasPrefix(made.provider, cloud), "%s has the provider %q", made.urn, made.provider)
		case made.remote:
			count["remote"]++
			assert.True(t, strings.HasPrefix(made.providers["aws"], cloud), "%s has the providers %v", made.urn, made.providers)
		}
	}
	for _, kind := range []string{"kubernetes", "aws", "remote"} {
		assert.NotZero(t, count[kind], kind)
	}
	require.NotEmpty(t, r.calls)
	for _, made := range r.calls {
		assert.True(t, strings.HasPrefix(made.provider, cloud), "%s is asked of %q", made.token, made.provider)
	}
}

func TestKubernetesProviderIsKnownByTheClustersName(t *testing.T) {
	t.Parallel()
	for _, preview := range []bool{false, true} {
		r := green(t, options{preview: preview, config: map[string]string{"clusterName": "mine"}})
		provider := r.one(t, "pulumi:providers:kubernetes", "kubernetes")
		assert.Equal(t, "mine", provider.get(t, "clusterIdentifier"), "else a computed kubeconfig replaces everything")
		assert.False(t, provider.has("deleteUnreachable"), "an outage during a refresh would drop state")
	}
}

func TestAWSProviderHasTheSettingsRegion(t *testing.T) {
	t.Parallel()
	region := generous().with(func(c *cloud) {
		c.zones["g6.12xlarge"] = []string{"us-west-2a"}
		c.zones["m7i.xlarge"] = []string{"us-west-2a", "us-west-2b"}
	})
	r := green(t, options{cloud: &region, config: map[string]string{"awsRegion": "us-west-2"}})
	assert.Equal(t, "us-west-2", r.one(t, "pulumi:providers:aws", "aws").get(t, "region"))
	assert.Equal(t, "com.amazonaws.us-west-2.s3", r.one(t, "aws:ec2/vpcEndpoint:VpcEndpoint", "s3").get(t, "serviceName"))
}
