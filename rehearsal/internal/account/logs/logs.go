// Package logs holds the resource types and rules of CloudWatch Logs.
package logs

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/kms"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Types are the resource types of CloudWatch Logs.
func Types() []store.AnyType { return []store.AnyType{logGroupType()} }

// LogGroup is aws:cloudwatch/logGroup:LogGroup.
type LogGroup struct {
	Name            string `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix      string `json:"namePrefix,omitempty" aws:"replace"`
	KMSKeyID        string `json:"kmsKeyId,omitempty"`
	LogGroupClass   string `json:"logGroupClass,omitempty" aws:"default,replace"`
	RetentionInDays int    `json:"retentionInDays"`
	SkipDestroy     bool   `json:"skipDestroy,omitempty"`
	schema.Tagged

	ARN string `json:"arn,omitempty" aws:"computed"`
	// MadeBy is the EKS cluster that created the group by itself.
	MadeBy string `json:"_madeBy,omitempty" aws:"hidden"`
}

// LogGroups is the token of LogGroup.
const LogGroups store.Token[LogGroup] = "aws:cloudwatch/logGroup:LogGroup"

func logGroupType() store.Type[LogGroup] {
	return store.Type[LogGroup]{
		Service:   "CloudWatch Logs",
		CreateAPI: "CreateLogGroup", UpdateAPI: "PutRetentionPolicy", DeleteAPI: "DeleteLogGroup",
		Token: LogGroups,
		Item: func(_ *store.Op, row *LogGroup) api.Item {
			if row.MadeBy != "" {
				return api.Item{
					BlocksName: true,
					Note:       "made by the control plane of " + row.MadeBy,
				}
			}
			return api.Item{BlocksName: true}
		},
		Create: func(o *store.Op, in *LogGroup) (string, error) {
			in.Name = store.Named(in.Name, in.NamePrefix)
			if other, taken := LogGroups.In(o)[in.Name]; taken {
				hint := ""
				if other.MadeBy != "" {
					hint = " (rehearsal: cluster " + other.MadeBy + " made it)"
				}
				return "", api.Errorf("ResourceAlreadyExistsException",
					"The specified log group already exists%s", hint)
			}
			in.ARN = o.ARN("logs", "log-group:"+in.Name)
			if err := check(o, in); err != nil {
				return "", err
			}
			if in.LogGroupClass == "" {
				in.LogGroupClass = "STANDARD"
			}
			return in.Name, nil
		},
		Update: func(o *store.Op, _ string, _, in *LogGroup) error { return check(o, in) },
	}
}

func check(o *store.Op, in *LogGroup) error {
	if err := checkRetention(in); err != nil {
		return err
	}
	return checkKey(o, in)
}

// checkKey refuses a key that CloudWatch Logs may not use for the group.
// Source: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS".
func checkKey(o *store.Op, in *LogGroup) error {
	if in.KMSKeyID == "" {
		return nil
	}
	key, err := kms.UsableKey(o, in.KMSKeyID)
	if err != nil || !strings.Contains(string(key.Policy), `"logs.`+o.Region+`.amazonaws.com"`) {
		return api.Errorf("InvalidParameterException",
			"The specified KMS key does not exist or is not allowed to be used with LogGroup '%s'", in.ARN)
	}
	return nil
}

// checkRetention refuses a number of days that CloudWatch Logs does not have.
// Source: CloudWatch Logs API, PutRetentionPolicy, parameter retentionInDays.
func checkRetention(in *LogGroup) error {
	days := []int{
		0,
		1,
		3,
		5,
		7,
		14,
		30,
		60,
		90,
		120,
		150,
		180,
		365,
		400,
		545,
		731,
		1096,
		1827,
		2192,
		2557,
		2922,
		3288,
		3653,
	}
	if !slices.Contains(days, in.RetentionInDays) {
		return api.Errorf("InvalidParameterException",
			"expected retentionInDays to be one of %v, got %d", days, in.RetentionInDays)
	}
	return nil
}
