package account

import (
	"slices"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func logGroupRules(kind resource.Kind) rules[resource.LogGroup] {
	return rules[resource.LogGroup]{
		kind: kind, service: "CloudWatch Logs",
		createVerb: "CreateLogGroup", updateVerb: "PutRetentionPolicy", deleteVerb: "DeleteLogGroup",
		rows: func(s *state) table[resource.LogGroup] { return s.LogGroups },
		create: func(o *op, in *resource.LogGroup) (string, error) {
			in.Name = named(in.Name, in.NamePrefix)
			if other, taken := o.LogGroups[in.Name]; taken {
				hint := ""
				if other.MadeBy != "" {
					hint = " (rehearsal: cluster " + other.MadeBy + " made it)"
				}
				return "", api.Errorf("ResourceAlreadyExistsException", "The specified log group already exists%s", hint)
			}
			if err := checkRetention(in); err != nil {
				return "", err
			}
			if in.LogGroupClass == "" {
				in.LogGroupClass = "STANDARD"
			}
			in.ARN = o.arn("logs", "log-group:"+in.Name)
			return in.Name, nil
		},
		update: func(_ *op, _ string, _, in *resource.LogGroup) error { return checkRetention(in) },
		// A control plane that is still there logs its next line at once.
		removed: func(o *op, _ string) { o.writeLogs() },
	}
}

// checkRetention refuses a number of days that CloudWatch Logs does not have.
// Source: CloudWatch Logs API, PutRetentionPolicy, parameter retentionInDays.
func checkRetention(in *resource.LogGroup) error {
	days := []int{0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
	if !slices.Contains(days, in.RetentionInDays) {
		return api.Errorf("InvalidParameterException", "expected retentionInDays to be one of %v, got %d", days, in.RetentionInDays)
	}
	return nil
}

// logGroupOf is the log group of a cluster's control plane.
// Source: EKS user guide, "Send control plane logs to CloudWatch Logs".
func logGroupOf(cluster string) string { return "/aws/eks/" + cluster + "/cluster" }

// writeLogs does what control planes with logging do all the time: they make their log
// group when it is not there, without a retention. Such a group outlives the cluster.
func (o *op) writeLogs() {
	for _, name := range o.Clusters.sorted() {
		cluster := o.Clusters[name]
		group := logGroupOf(name)
		if _, there := o.LogGroups[group]; there || len(cluster.EnabledClusterLogTypes) == 0 {
			continue
		}
		o.LogGroups[group] = &resource.LogGroup{
			Name: group, LogGroupClass: "STANDARD", MadeBy: name, ARN: o.arn("logs", "log-group:"+group),
		}
	}
}

// validLogTypes are the control plane's logs.
// Source: EKS API, LogSetup.
func validLogTypes(types []string) error {
	valid := []string{"api", "audit", "authenticator", "controllerManager", "scheduler"}
	for _, one := range types {
		if !slices.Contains(valid, one) {
			return invalidParameter("expected enabledClusterLogTypes to be of %s, got %s", strings.Join(valid, ", "), one)
		}
	}
	return nil
}
