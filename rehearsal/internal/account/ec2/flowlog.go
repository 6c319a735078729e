package ec2

import (
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/logs"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// FlowLog is aws:ec2/flowLog:FlowLog, of a VPC to CloudWatch Logs.
type FlowLog struct {
	VpcID                  string `json:"vpcId,omitempty" aws:"replace"`
	TrafficType            string `json:"trafficType,omitempty" aws:"replace"`
	IAMRoleARN             string `json:"iamRoleArn,omitempty" aws:"replace"`
	LogDestination         string `json:"logDestination,omitempty" aws:"replace"`
	LogDestinationType     string `json:"logDestinationType,omitempty" aws:"replace,initial=cloud-watch-logs"`
	MaxAggregationInterval int    `json:"maxAggregationInterval,omitempty" aws:"replace,initial=600"`
	schema.Tagged

	ARN string `json:"arn,omitempty" aws:"computed"`
}

// FlowLogs is the token of FlowLog.
const FlowLogs store.Token[FlowLog] = "aws:ec2/flowLog:FlowLog"

func flowLogType() store.Type[FlowLog] {
	return store.Type[FlowLog]{
		Service:   "EC2",
		CreateAPI: "CreateFlowLogs", UpdateAPI: "CreateTags", DeleteAPI: "DeleteFlowLogs",
		Token: FlowLogs,
		Item:  store.HoldsName[FlowLog],
		Create: func(o *store.Op, in *FlowLog) (string, error) {
			if err := checkFlowLog(o, in); err != nil {
				return "", err
			}
			id := store.NewID("fl")
			in.ARN = o.ARN("ec2", "vpc-flow-log/"+id)
			return id, nil
		},
	}
}

// checkFlowLog checks what EC2 refuses, and that the role can write to the group: EC2 reports that
// later, in the state of the flow log.
// Sources: EC2 API, CreateFlowLogs; VPC user guide, "Publish flow logs to CloudWatch Logs".
func checkFlowLog(o *store.Op, in *FlowLog) error {
	if _, err := findVpc(o, in.VpcID); err != nil {
		return err
	}
	switch in.TrafficType {
	case "ACCEPT", "REJECT", "ALL":
	default:
		return api.Errorf("InvalidParameterValue", "Invalid value for parameter trafficType: %q", in.TrafficType)
	}
	role, ok := iam.RoleByARN(o, in.IAMRoleARN)
	if !ok || !iam.Trusts(role, "vpc-flow-logs.amazonaws.com") {
		return api.Errorf("InvalidParameter",
			"Access Denied for LogDestination: the role %q does not trust vpc-flow-logs.amazonaws.com", in.IAMRoleARN)
	}
	for _, id := range logs.LogGroups.In(o).IDs() {
		if logs.LogGroups.In(o)[id].ARN != strings.TrimSuffix(in.LogDestination, ":*") {
			continue
		}
		for _, action := range []string{"logs:CreateLogStream", "logs:PutLogEvents"} {
			if !iam.HasInlineAction(o, role, action) {
				return api.Errorf("InvalidParameter",
					"Access error: the role %q lacks %s on the log group", in.IAMRoleARN, action)
			}
		}
		return nil
	}
	return api.Errorf("InvalidParameter", "LogDestination: %s does not exist", in.LogDestination)
}
