package eks

import (
	"encoding/json"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

type addonVersionArgs struct {
	AddonName         string `json:"addonName"`
	KubernetesVersion string `json:"kubernetesVersion"`
	MostRecent        bool   `json:"mostRecent"`
}

type addonVersionResult struct {
	AddonName         string `json:"addonName"`
	ID                string `json:"id"`
	KubernetesVersion string `json:"kubernetesVersion"`
	MostRecent        bool   `json:"mostRecent"`
	Version           string `json:"version"`
}

// getAddonVersion returns the newest version, or the default one, which is the one before.
func getAddonVersion(_ *store.Op, args addonVersionArgs) (any, error) {
	versions := addonVersions(args.AddonName, args.KubernetesVersion)
	if len(versions) == 0 {
		return nil, api.Errorf("InvalidParameterException",
			"reading EKS Add-On version info (%s, %s): couldn't find resource", args.AddonName,
			args.KubernetesVersion)
	}
	version := versions[0]
	if !args.MostRecent && len(versions) > 1 {
		version = versions[1]
	}
	return addonVersionResult{
		AddonName: args.AddonName, ID: args.AddonName, KubernetesVersion: args.KubernetesVersion,
		MostRecent: args.MostRecent, Version: version,
	}, nil
}

type clusterVersionsArgs struct {
	ClusterType           string   `json:"clusterType"`
	ClusterVersionsOnlies []string `json:"clusterVersionsOnlies"`
	DefaultOnly           bool     `json:"defaultOnly"`
	IncludeAll            bool     `json:"includeAll"`
	VersionStatus         string   `json:"versionStatus"`
}

type clusterVersion struct {
	ClusterType            string `json:"clusterType"`
	ClusterVersion         string `json:"clusterVersion"`
	DefaultVersion         bool   `json:"DefaultVersion"`
	DefaultPlatformVersion string `json:"defaultPlatformVersion"`
	KubernetesPatchVersion string `json:"kubernetesPatchVersion"`
	ReleaseDate            string `json:"releaseDate"`
	VersionStatus          string `json:"versionStatus"`
}

type clusterVersionsResult struct {
	ID              string           `json:"id"`
	ClusterVersions []clusterVersion `json:"clusterVersions"`
}

func getClusterVersions(o *store.Op, args clusterVersionsArgs) (any, error) {
	result := clusterVersionsResult{ID: o.Region, ClusterVersions: []clusterVersion{}}
	for _, v := range kubernetesVersions() {
		if args.DefaultOnly && !v.Default ||
			len(args.ClusterVersionsOnlies) > 0 &&
				!slices.Contains(args.ClusterVersionsOnlies, v.Minor) {
			continue
		}
		result.ClusterVersions = append(result.ClusterVersions, clusterVersion{
			ClusterType: "eks", ClusterVersion: v.Minor, DefaultVersion: v.Default,
			DefaultPlatformVersion: "eks.1",
			KubernetesPatchVersion: v.Minor + "." + string(
				rune('0'+v.Patch)), ReleaseDate: v.Released, VersionStatus: "STANDARD_SUPPORT",
		})
	}
	return result, nil
}

type nameArgs struct {
	Name string            `json:"name"`
	Tags map[string]string `json:"tags"`
}

type clusterAuthResult struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

// getClusterAuth issues a token as `aws eks get-token` does.
func getClusterAuth(o *store.Op, args nameArgs) (any, error) {
	token, err := newToken(o, args.Name, o.CallerARN())
	return clusterAuthResult{ID: args.Name, Name: args.Name, Token: token}, err
}

type clusterResult struct {
	ARN                      string                    `json:"arn"`
	AccessConfigs            []AccessConfig            `json:"accessConfigs"`
	CertificateAuthorities   []CertificateAuthority    `json:"certificateAuthorities"`
	CreatedAt                string                    `json:"createdAt"`
	EnabledClusterLogTypes   []string                  `json:"enabledClusterLogTypes"`
	Endpoint                 string                    `json:"endpoint"`
	ID                       string                    `json:"id"`
	Identities               []Identity                `json:"identities"`
	KubernetesNetworkConfigs []KubernetesNetworkConfig `json:"kubernetesNetworkConfigs"`
	Name                     string                    `json:"name"`
	PlatformVersion          string                    `json:"platformVersion"`
	RoleARN                  string                    `json:"roleArn"`
	Status                   string                    `json:"status"`
	Tags                     map[string]string         `json:"tags"`
	Version                  string                    `json:"version"`
	VpcConfig                ClusterVpcConfig          `json:"vpcConfig"`
}

func getCluster(o *store.Op, args nameArgs) (any, error) {
	found, ok := Clusters.In(o)[args.Name]
	if !ok {
		return nil, api.Errorf("ResourceNotFoundException", "No cluster found for name: %s.",
			args.Name).WithStatus(
			404,
		)
	}
	return clusterResult{
		ARN: found.ARN, AccessConfigs: []AccessConfig{*found.AccessConfig},
		CertificateAuthorities: found.CertificateAuthorities,
		CreatedAt:              found.CreatedAt, EnabledClusterLogTypes: found.EnabledClusterLogTypes,
		Endpoint: found.Endpoint, ID: found.Name,
		Identities:               found.Identities,
		KubernetesNetworkConfigs: []KubernetesNetworkConfig{*found.KubernetesNetworkConfig},
		Name:                     found.Name, PlatformVersion: found.PlatformVersion, RoleARN: found.RoleARN,
		Status: found.Status,
		Tags:   found.TagsAll, Version: found.Version, VpcConfig: found.VpcConfig,
	}, nil
}

type namesResult struct {
	ID    string   `json:"id"`
	Names []string `json:"names"`
}

func getClusters(o *store.Op, _ struct{}) (any, error) {
	return namesResult{ID: o.Region, Names: append([]string{}, Clusters.In(o).IDs()...)}, nil
}

type nodeGroupArgs struct {
	ClusterName   string            `json:"clusterName"`
	NodeGroupName string            `json:"nodeGroupName"`
	Tags          map[string]string `json:"tags"`
}

// getNodeGroup returns what pulumi-aws's function returns: the resource's properties, with
// scalingConfigs and launchTemplates as lists.
func getNodeGroup(o *store.Op, args nodeGroupArgs) (any, error) {
	found, ok := NodeGroups.In(o)[args.ClusterName+":"+args.NodeGroupName]
	if !ok {
		return nil, api.Errorf("ResourceNotFoundException", "No node group found for name: %s.",
			args.NodeGroupName).WithStatus(
			404,
		)
	}
	body, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(body, &properties); err != nil {
		return nil, err
	}
	for from, to := range map[string]string{"scalingConfig": "scalingConfigs", "launchTemplate": "launchTemplates", "updateConfig": "updateConfigs"} {
		if value, ok := properties[from]; ok {
			properties[to] = json.RawMessage("[" + string(value) + "]")
			delete(properties, from)
		}
	}
	delete(properties, "_issue")
	properties["id"] = json.RawMessage(`"` + args.ClusterName + ":" + args.NodeGroupName + `"`)
	return properties, nil
}
