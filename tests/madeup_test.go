package tests

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// madeUp returns the outputs of a resource that are not inputs. A training job has that many ranks.
func madeUp(typ, name string, ranks int) resource.PropertyMap {
	text := resource.NewProperty[string]
	number := resource.NewProperty[float64]
	switch typ {
	case launchTemplate:
		return resource.PropertyMap{"latestVersion": number(3)}
	case "aws:ec2/placementGroup:PlacementGroup", "aws:iam/role:Role":
		return resource.PropertyMap{"name": text(name + "-made"), "arn": text("arn:" + name)}
	case nodeGroup:
		return resource.PropertyMap{
			"nodeGroupName": text(name + "-made"),
			"arn":           text("arn:aws:eks:us-east-2:123456789012:nodegroup/ray-train-efa/" + name + "-made/1"),
		}
	case "aws:kms/key:Key":
		return resource.PropertyMap{"arn": text("arn:aws:kms:key")}
	case trainingJob:
		return resource.PropertyMap{
			"verdict": text("efa"), "stepsPerSecond": number(0.5173), "worldSize": number(8), "attempt": number(1),
			"ranks":     resource.NewProperty(rankRows(ranks)),
			"findings":  resource.NewProperty([]resource.PropertyValue{}),
			"nodes":     resource.NewProperty(nodeRows(ranks / 4)),
			"pods":      resource.NewProperty([]resource.PropertyValue{}),
			"proofHash": text("h"), "submissionId": text("gate-1"), "reportPath": text("evidence/gate-1/report.txt"),
			"rehearsed": resource.NewProperty(true),
		}
	default:
		return nil
	}
}

func rankRows(count int) []resource.PropertyValue {
	rows := make([]resource.PropertyValue, count)
	for i := range rows {
		rows[i] = resource.NewProperty(resource.PropertyMap{
			"rank": resource.NewProperty(float64(i)), "host": resource.NewProperty(fmt.Sprint("w", i/4)),
			"network": resource.NewProperty("AWS Libfabric"), "provider": resource.NewProperty("efa"),
		})
	}
	return rows
}

func nodeRows(count int) []resource.PropertyValue {
	rows := make([]resource.PropertyValue, count)
	for i := range rows {
		rows[i] = resource.NewProperty(resource.PropertyMap{
			"name": resource.NewProperty(fmt.Sprint("node", i)),
			"gpus": resource.NewProperty(4.0), "efa": resource.NewProperty(1.0),
		})
	}
	return rows
}

// innerClusterURN names the aws:eks Cluster inside pulumi-eks's component. The component is remote:
// its children are registered by its own provider, which here does not run.
func innerClusterURN(component string) string {
	return urnOf(component, "aws:eks/cluster:Cluster", "eks-eksCluster")
}

// innerCluster is the cluster as returned to the SDK.
func innerCluster(urn string, preview bool) resource.PropertyMap {
	text := resource.NewProperty[string]
	state, id := resource.PropertyMap{"name": text("ray-train-efa")}, ""
	unknown := resource.MakeComputed(text(""))
	if preview {
		state["endpoint"], state["certificateAuthority"], state["vpcConfig"] = unknown, unknown, unknown
	} else {
		id = "ray-train-efa"
		state["endpoint"] = text("https://eks.test")
		state["certificateAuthority"] = resource.NewProperty(resource.PropertyMap{"data": text("Q0E=")})
		state["vpcConfig"] = resource.NewProperty(resource.PropertyMap{"clusterSecurityGroupId": text("sg-of-eks")})
	}
	return resource.PropertyMap{"urn": text(urn), "id": text(id), "state": resource.NewProperty(state)}
}
