package ec2

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

type zonesArgs struct {
	AllAvailabilityZones bool     `json:"allAvailabilityZones"`
	ExcludeNames         []string `json:"excludeNames"`
	ExcludeZoneIDs       []string `json:"excludeZoneIds"`
	Filters              []filter `json:"filters"`
	State                string   `json:"state"`
}

type zonesResult struct {
	ID         string   `json:"id"`
	Names      []string `json:"names"`
	ZoneIDs    []string `json:"zoneIds"`
	GroupNames []string `json:"groupNames"`
}

func getAvailabilityZones(o *store.Op, args zonesArgs) (any, error) {
	byName := map[string]zone{}
	var names []string
	for _, z := range zones(o) {
		if slices.Contains(args.ExcludeNames, z.Name) ||
			slices.Contains(args.ExcludeZoneIDs, z.ID) {
			continue
		}
		byName[z.Name] = z
		names = append(names, z.Name)
	}
	names, err := filterNames(names, args.Filters, func(name, key string) (string, bool) {
		switch key {
		case "opt-in-status":
			return "opt-in-not-required", true
		case "zone-type":
			return "availability-zone", true
		case "zone-name":
			return name, true
		case "zone-id":
			return byName[name].ID, true
		case "region-name", "group-name":
			return o.Region, true
		case "state":
			return "available", true
		default:
			return "", false
		}
	})
	if err != nil {
		return nil, err
	}
	if args.State != "" && args.State != "available" {
		names = []string{}
	}
	result := zonesResult{
		ID:         o.Region,
		Names:      names,
		ZoneIDs:    []string{},
		GroupNames: []string{o.Region},
	}
	for _, name := range names {
		result.ZoneIDs = append(result.ZoneIDs, byName[name].ID)
	}
	return result, nil
}

// zone is one availability zone.
type zone struct {
	Name string
	ID   string
}

// zones returns the region's zones. The zone ids are those of us-east-2. On AWS the mapping of
// names to ids differs between accounts; here it is fixed.
func zones(o *store.Op) []zone {
	prefix := strings.NewReplacer("us-east-", "use", "us-west-", "usw", "eu-west-", "euw",
		"eu-central-", "euc", "ap-northeast-", "apne").Replace(
		o.Region,
	)
	var all []zone
	for i, letter := range []string{"a", "b", "c"} {
		all = append(all, zone{Name: o.Region + letter, ID: prefix + "-az" + string(rune('1'+i))})
	}
	return all
}

// PickZone returns the zone with a name and an id, of which either may be empty, or EC2's error.
func PickZone(o *store.Op, name, id string) (zone, error) {
	all := zones(o)
	if name == "" && id == "" {
		return all[0], nil
	}
	i := slices.IndexFunc(all,
		func(z zone) bool { return (name == "" || z.Name == name) && (id == "" || z.ID == id) })
	if i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, z := range all {
		names = append(names, z.Name)
	}
	// Source: EC2's response to CreateSubnet with a zone that does not exist.
	return zone{}, api.Errorf("InvalidParameterValue",
		"Value (%s) for parameter availabilityZone is invalid. Subnets can currently only be "+
			"created in the following availability zones: %s.",
		name+id, strings.Join(names, ", "))
}
