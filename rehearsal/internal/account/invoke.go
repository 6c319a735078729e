package account

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// invokeFunc answers one of the provider's functions under the account's lock.
type invokeFunc func(o *op, args json.RawMessage) (any, error)

// invokes are the functions that a rehearsal knows, by token.
func invokes() map[string]invokeFunc {
	return map[string]invokeFunc{
		"aws:index/getPartition:getPartition":                       answerTo(getPartition),
		"aws:index/getCallerIdentity:getCallerIdentity":             answerTo(getCallerIdentity),
		"aws:index/getRegion:getRegion":                             answerTo(getRegion),
		"aws:index/getAvailabilityZones:getAvailabilityZones":       answerTo(getAvailabilityZones),
		"aws:ec2/getInstanceType:getInstanceType":                   answerTo(getInstanceType),
		"aws:ec2/getInstanceTypes:getInstanceTypes":                 answerTo(getInstanceTypes),
		"aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": answerTo(getInstanceTypeOfferings),
		"aws:ec2/getInstances:getInstances":                         answerTo(getInstances),
		"aws:ec2/getInstance:getInstance":                           answerTo(getInstance),
		"aws:ec2/getEips:getEips":                                   answerTo(getEips),
		"aws:ec2/getVpcs:getVpcs":                                   answerTo(getVpcs),
		"aws:ec2/getVpc:getVpc":                                     answerTo(getVpc),
		"aws:ec2/getSubnet:getSubnet":                               answerTo(getSubnet),
		"aws:ec2/getSubnets:getSubnets":                             answerTo(getSubnets),
		"aws:ec2/getSecurityGroup:getSecurityGroup":                 answerTo(getSecurityGroup),
		"aws:servicequotas/getServiceQuota:getServiceQuota":         answerTo(getServiceQuota),
		"aws:eks/getAddonVersion:getAddonVersion":                   answerTo(getAddonVersion),
		"aws:eks/getClusterVersions:getClusterVersions":             answerTo(getClusterVersions),
		"aws:eks/getClusterAuth:getClusterAuth":                     answerTo(getClusterAuth),
		"aws:eks/getCluster:getCluster":                             answerTo(getCluster),
		"aws:eks/getClusters:getClusters":                           answerTo(getClusters),
		"aws:eks/getNodeGroup:getNodeGroup":                         answerTo(getNodeGroup),
		"aws:ssm/getParameter:getParameter":                         answerTo(getParameter),
		"aws:ec2/getSpotPrice:getSpotPrice":                         answerTo(getSpotPrice),
		"aws:iam/getPolicyDocument:getPolicyDocument":               answerTo(getPolicyDocument),
	}
}

// answerTo gives a function its typed arguments, refusing those it does not know.
func answerTo[A any](f func(o *op, args A) (any, error)) invokeFunc {
	return func(o *op, raw json.RawMessage) (any, error) {
		var args A
		if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&args); err != nil {
				return nil, api.Errorf("ValidationError", "decoding the arguments: %v", err)
			}
		}
		return f(o, args)
	}
}

// Invoke answers one of the provider's functions.
func (a *Account) Invoke(token string, args json.RawMessage) (json.RawMessage, error) {
	all := invokes()
	f, ok := all[token]
	if !ok {
		return nil, api.Errorf("InvalidAction", "function %q is not part of the rehearsed AWS account; it knows: %s", token, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	var result any
	var err error
	a.look(func(o *op) { result, err = f(o, args) })
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer of %q: %w", token, err)
	}
	return body, nil
}

// filter is a filter of an EC2 Describe call.
type filter struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// only drops from names what a filter does not let through. keys gives the value of a
// filter's name, and false for a filter that the rehearsal does not know.
func only(names []string, filters []filter, value func(name, key string) (string, bool)) ([]string, error) {
	kept := []string{}
	for _, name := range names {
		keep := true
		for _, f := range filters {
			v, known := value(name, f.Name)
			if !known {
				return nil, api.Errorf("InvalidParameterValue", "The filter '%s' is invalid (a rehearsal does not know it)", f.Name)
			}
			keep = keep && slices.ContainsFunc(f.Values, func(wanted string) bool { return matchesWild(wanted, v) })
		}
		if keep {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

// matchesWild compares with EC2's * at either end of a filter's value.
func matchesWild(wanted, value string) bool {
	if prefix, ok := strings.CutSuffix(wanted, "*"); ok {
		return strings.HasPrefix(value, prefix)
	}
	return wanted == value
}

// hasTags says whether tags hold all that are wanted.
func hasTags(tags, wanted map[string]string) bool {
	for key, value := range wanted {
		if tags[key] != value {
			return false
		}
	}
	return true
}
