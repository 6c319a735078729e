package settings

import (
	"fmt"
	"regexp"
)

// Security limits who can reach and delete the stack, and what its roles may do.
type Security struct {
	// PublicAccessFromAnywhere allows PublicAccessCIDRs that cover the whole internet.
	PublicAccessFromAnywhere bool
	// PermissionsBoundaryARN is the permissions boundary of every IAM role of the stack; empty for
	// none.
	PermissionsBoundaryARN string
	// FlowLogs reports whether the VPC's traffic is logged.
	FlowLogs bool
	// Protect makes Pulumi refuse to delete the cluster, its key and its VPC.
	Protect bool
}

var boundaryForm = regexp.MustCompile(`^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/.+$`)

func securityFields() []Field {
	return []Field{
		{
			Key: "publicAccessFromAnywhere", Type: Boolean, Default: "false",
			Description: "Allows blocks in publicAccessCidrs that are larger than /8, such as 0.0.0.0/0. " +
				"Then only IAM protects the API server.",
			Allowed: "true or false",
			set:     boolean(func(s *Settings) *bool { return &s.PublicAccessFromAnywhere }),
		},
		{
			Key: "permissionsBoundaryArn", Type: String, Default: "",
			Description: "ARN of the IAM policy that is the permissions boundary of every role of the " +
				"stack. Empty means none.",
			Allowed: "the ARN of an IAM policy, or empty for no boundary",
			Example: "arn:aws:iam::123456789012:policy/boundary",
			set: optional(matching(boundaryForm,
				func(s *Settings) *string { return &s.PermissionsBoundaryARN })),
		},
		{
			Key: "flowLogs", Type: Boolean, Default: "false",
			Description: "Logs the VPC's traffic, without EFA, to CloudWatch Logs for logRetentionDays " +
				"($0.50 per GB in us-east-1).",
			Allowed: "true or false",
			set:     boolean(func(s *Settings) *bool { return &s.FlowLogs }),
		},
		{
			Key: "protect", Type: Boolean, Default: "false",
			Description: "Makes pulumi destroy fail before it deletes anything, until protect is false " +
				"and pulumi up has run.",
			Allowed: "true or false",
			set:     boolean(func(s *Settings) *bool { return &s.Protect }),
		},
	}
}

// widestBlock is the prefix length of the largest block that needs no PublicAccessFromAnywhere. The
// largest blocks that one organization has are /8.
const widestBlock = 8

// anywhereProblems reports blocks that let everyone reach the API server without
// publicAccessFromAnywhere.
func anywhereProblems(s Settings) Problems {
	if s.PublicAccessFromAnywhere {
		return nil
	}
	var problems Problems
	for _, block := range s.PublicAccessCIDRs {
		if block.Bits() < widestBlock {
			problems = append(problems, Problem{
				Key: "publicAccessCidrs", Value: block.String(),
				Cause: fmt.Sprintf("it lets much of the internet reach the API server, "+
					"and publicAccessFromAnywhere is %t", s.PublicAccessFromAnywhere),
				Allowed: fmt.Sprintf("blocks of /%d or smaller", widestBlock),
				Next: `pulumi config set --path 'publicAccessCidrs[0]' ` +
					`"$(curl -s https://checkip.amazonaws.com)/32", ` +
					"or, if you mean it, pulumi config set publicAccessFromAnywhere true",
			})
		}
	}
	return problems
}
