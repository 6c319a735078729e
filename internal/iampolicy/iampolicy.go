// Package iampolicy writes policy documents of IAM.
package iampolicy

import (
	"encoding/json"
	"fmt"
)

// Version is the version of the policy language.
const Version = "2012-10-17"

// Statement is one statement of a policy that allows something.
type Statement struct {
	// Sid names the statement.
	Sid string
	// Principal is who may act; nil in a policy of a role.
	Principal *Principal
	// Actions are the allowed actions.
	Actions []string
	// Resources are ARNs; empty in a trust policy.
	Resources []string
	// Conditions hold by operator, such as StringEquals, and then by condition key.
	Conditions map[string]map[string]string
}

// Principal is an account or a service. One of the fields is set.
type Principal struct {
	// AWS is the ARN of an account's root, a role or a user.
	AWS string `json:"AWS,omitempty"`
	// Service is a service principal, such as ec2.amazonaws.com.
	Service string `json:"Service,omitempty"`
}

// statement is a statement in the form that IAM reads.
type statement struct {
	Sid       string                       `json:"Sid,omitempty"`
	Effect    string                       `json:"Effect"`
	Principal *Principal                   `json:"Principal,omitempty"`
	Action    []string                     `json:"Action"`
	Resource  []string                     `json:"Resource,omitempty"`
	Condition map[string]map[string]string `json:"Condition,omitempty"`
}

// Document returns a policy with the statements as JSON.
// Source: IAM user guide, "IAM JSON policy reference".
func Document(statements ...Statement) (string, error) {
	document := struct {
		Version   string      `json:"Version"`
		Statement []statement `json:"Statement"`
	}{Version: Version}
	for _, s := range statements {
		document.Statement = append(document.Statement, statement{
			s.Sid, "Allow", s.Principal, s.Actions, s.Resources, s.Conditions,
		})
	}
	text, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("writing a policy document: %w", err)
	}
	return string(text), nil
}

// Trust returns the trust policy of a role that a service assumes with the actions.
func Trust(service string, actions ...string) (string, error) {
	return Document(Statement{Principal: &Principal{Service: service}, Actions: actions})
}
