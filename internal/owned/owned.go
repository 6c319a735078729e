// Package owned lists the AWS resources that carry a stack's tags.
package owned

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
)

// Resource is an AWS resource that has tags.
type Resource struct {
	// ARN is its Amazon Resource Name.
	ARN string
	// Tags are all its tags.
	Tags map[string]string
}

// StackTags returns the tags of all AWS resources of a stack.
func StackTags(project, stack string) map[string]string {
	return map[string]string{"project": project, "stack": stack}
}

// Find returns the resources of a region that carry all the tags, ordered by ARN. It calls
// tag:GetResources with the credentials and the endpoint of the environment (AWS_PROFILE,
// AWS_ENDPOINT_URL).
//
// That API lists no IAM roles, and may list a deleted resource for about an hour. Source: Resource
// Groups Tagging API Reference, GetResources ("tagged or previously tagged resources").
func Find(ctx context.Context, region string, tags map[string]string) ([]Resource, error) {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	request := &tagging.GetResourcesInput{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		request.TagFilters = append(request.TagFilters,
			types.TagFilter{Key: aws.String(key), Values: []string{tags[key]}})
	}
	var found []Resource
	pages := tagging.NewGetResourcesPaginator(tagging.NewFromConfig(loaded), request)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the resources with the stack's tags in %s: %w", region, err)
		}
		for _, one := range page.ResourceTagMappingList {
			resource := Resource{ARN: aws.ToString(one.ResourceARN), Tags: map[string]string{}}
			for _, tag := range one.Tags {
				resource.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
			found = append(found, resource)
		}
	}
	slices.SortFunc(found, func(a, b Resource) int { return strings.Compare(a.ARN, b.ARN) })
	return found, nil
}

// Kind returns the service and the type of the resource, such as "ec2/natgateway" or "eks/cluster".
func (r Resource) Kind() string {
	kind, _ := r.split()
	return kind
}

// ID returns the part of the ARN behind the type, such as "nat-0123" or "NAME" of a cluster.
func (r Resource) ID() string {
	_, id := r.split()
	return id
}

// split divides an ARN's resource part, TYPE/ID or TYPE:ID; a bucket has only an id.
func (r Resource) split() (kind, id string) {
	parsed, err := arn.Parse(r.ARN)
	if err != nil {
		return "", r.ARN
	}
	at := strings.IndexAny(parsed.Resource, "/:")
	if at < 0 {
		return parsed.Service, parsed.Resource
	}
	return parsed.Service + "/" + parsed.Resource[:at], parsed.Resource[at+1:]
}

// Left returns the resources of a region that carry all tags of one of the sets. KMS keys that are
// pending deletion are left out: they cost nothing.
func Left(ctx context.Context, region string, sets ...map[string]string) ([]Resource, error) {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	keys := kms.NewFromConfig(loaded)
	left := map[string]Resource{}
	for _, tags := range sets {
		found, err := Find(ctx, region, tags)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			if one.Kind() == "kms/key" {
				described, err := keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: aws.String(one.ARN)})
				if err != nil {
					return nil, fmt.Errorf("reading the state of key %s: %w", one.ARN, err)
				}
				if described.KeyMetadata.KeyState == kmstypes.KeyStatePendingDeletion {
					continue
				}
			}
			left[one.ARN] = one
		}
	}
	var all []Resource
	for _, name := range slices.Sorted(maps.Keys(left)) {
		all = append(all, left[name])
	}
	return all, nil
}
