package awsprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// configKeys are the settings of pulumi-aws that a rehearsal accepts. Only region and defaultTags
// change anything: the others are credentials, which a rehearsal does not use.
func configKeys() []string {
	return []string{
		"accessKey", "allowedAccountIds", "assumeRole", "assumeRoles", "defaultTags", "endpoints", "ignoreTags", "maxRetries",
		"profile", "region", "retryMode", "s3UsePathStyle", "secretKey", "sharedConfigFiles", "sharedCredentialsFiles",
		"skipCredentialsValidation", "skipMetadataApiCheck", "skipRegionValidation", "skipRequestingAccountId",
		"stsRegion", "token", "useDualstackEndpoint", "useFipsEndpoint", "version", "pluginDownloadURL",
	}
}

func (s *provider) checkConfig(_ context.Context, request p.CheckRequest) (p.CheckResponse, error) {
	var failures []p.CheckFailure
	for name := range request.Inputs.AllStable {
		if !slices.Contains(configKeys(), name) && !strings.HasPrefix(name, "__") {
			failures = append(failures, p.CheckFailure{
				Property: name,
				Reason: fmt.Sprintf("the aws provider has no setting %q; it has: %s", name,
					strings.Join(configKeys(), ", ")),
			})
		}
	}
	return p.CheckResponse{Inputs: request.Inputs, Failures: failures}, nil
}

// diffConfig replaces the provider and all its resources if the region changes.
func (s *provider) diffConfig(_ context.Context, request p.DiffRequest) (p.DiffResponse, error) {
	old := request.OldInputs
	if old.Len() == 0 {
		old = request.State
	}
	detailed := map[string]p.PropertyDiff{}
	for _, name := range configKeys() {
		before, had := old.GetOk(name)
		after, has := request.Inputs.GetOk(name)
		if name == "version" || name == "pluginDownloadURL" ||
			had == has && (!had || plain(before).Equals(plain(after))) {
			continue
		}
		kind := p.Update
		if name == "region" && had && has {
			kind = p.UpdateReplace
		}
		detailed[name] = p.PropertyDiff{Kind: kind, InputDiff: true}
	}
	return p.DiffResponse{HasChanges: len(detailed) > 0, DetailedDiff: detailed}, nil
}

func (s *provider) configure(ctx context.Context, request p.ConfigureRequest) error {
	if err := s.useDefaultTags(request.Args.Get("defaultTags")); err != nil {
		return err
	}
	region := request.Args.Get("region")
	if !region.IsString() {
		return nil
	}
	args, err := json.Marshal(map[string]string{"name": region.AsString()})
	if err != nil {
		return fmt.Errorf("configuring the rehearsed aws provider: %w", err)
	}
	// The account returns an error if the region is not its own.
	if _, err := s.cloud.Invoke(ctx, api.InvokeRequest{Token: "aws:index/getRegion:getRegion", Args: args}); err != nil {
		return fmt.Errorf("configuring the rehearsed aws provider: setting \"region\" is %q: %w",
			region.AsString(), err)
	}
	return nil
}

// useDefaultTags reads {"tags": {...}}, which is an object or a JSON string.
func (s *provider) useDefaultTags(value property.Value) error {
	var settings struct {
		Tags map[string]string `json:"tags"`
	}
	var body []byte
	switch {
	case value.IsString():
		body = []byte(value.AsString())
	case value.IsMap():
		encoded, err := toJSON(value.AsMap())
		if err != nil {
			// In a preview, unknown tags are left out.
			return nil
		}
		body = encoded
	default:
		return nil
	}
	if err := json.Unmarshal(body, &settings); err != nil {
		return fmt.Errorf(
			"configuring the rehearsed aws provider: setting \"defaultTags\" is not {tags: "+
				"{...}}: %w",
			err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defaultTags = settings.Tags
	return nil
}
