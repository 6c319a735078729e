package account

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/ec2"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// serveJSON serves the operations that raytrain calls through AWS's SDK, in the AWS JSON 1.1
// protocol. Signatures are not checked.
func (a *Account) serveJSON(w http.ResponseWriter, r *http.Request) {
	const tagging, keys = "ResourceGroupsTaggingAPI_20170126.", "TrentService."
	switch target := r.Header.Get("X-Amz-Target"); target {
	case tagging + "GetResources":
		serve(a.getResources)(w, r)
	case keys + "DescribeKey":
		serve(a.describeKey)(w, r)
	default:
		reply(w, nil, api.Errorf("UnknownOperationException",
			"operation %q is not part of the emulated AWS account", target))
	}
}

type tagFilter struct {
	Key    string
	Values []string
}

type resourceRequest struct {
	TagFilters      []tagFilter
	PaginationToken string
}

type tag struct{ Key, Value string }

type taggedResource struct {
	ResourceARN string
	Tags        []tag
}

type resourceList struct {
	PaginationToken        string
	ResourceTagMappingList []taggedResource
}

// getResources lists the tagged resources of the region. A key that is pending deletion is among
// them; IAM roles and policies, which are global, are not.
// Source: Resource Groups Tagging API Reference, GetResources.
func (a *Account) getResources(_ *http.Request, in resourceRequest) (resourceList, error) {
	tagged, err := a.store.Tagged()
	if err != nil {
		return resourceList{}, err
	}
	list := resourceList{ResourceTagMappingList: []taggedResource{}}
	for _, one := range tagged {
		if one.ARN == "" && one.Type == ec2.NatGateways.String() {
			one.ARN = a.store.ARN("ec2", "natgateway/"+one.ID)
		}
		if one.ARN == "" || strings.HasPrefix(one.Type, "aws:iam/") || !matches(in.TagFilters, one) {
			continue
		}
		found := taggedResource{ResourceARN: one.ARN}
		for _, key := range slices.Sorted(maps.Keys(one.Tags)) {
			found.Tags = append(found.Tags, tag{key, one.Tags[key]})
		}
		list.ResourceTagMappingList = append(list.ResourceTagMappingList, found)
	}
	return list, nil
}

func matches(filters []tagFilter, one store.Tagged) bool {
	for _, filter := range filters {
		value, ok := one.Tags[filter.Key]
		if !ok || len(filter.Values) > 0 && !slices.Contains(filter.Values, value) {
			return false
		}
	}
	return true
}

// keyDescription is the part of DescribeKey's response that is emulated.
type keyDescription struct {
	KeyMetadata keyMetadata
}

type keyMetadata struct {
	ID    string `json:"KeyId"`
	ARN   string `json:"Arn"`
	State string `json:"KeyState"`
}

type keyRequest struct {
	ID string `json:"KeyId"`
}

// describeKey returns the state of a key. Source: KMS API Reference, DescribeKey, KeyState.
func (a *Account) describeKey(_ *http.Request, in keyRequest) (keyDescription, error) {
	id := in.ID[strings.LastIndex(in.ID, "/")+1:]
	found, err := a.store.Read(kms.Keys.String(), id)
	if err != nil {
		return keyDescription{}, err
	}
	key := keyMetadata{ID: id, ARN: a.store.ARN("kms", "key/"+id), State: "Enabled"}
	if found.ID == "" { // the provider does not see a key that is pending deletion
		key.State = "PendingDeletion"
	}
	return keyDescription{KeyMetadata: key}, nil
}
