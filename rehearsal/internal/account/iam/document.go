package iam

import (
	"encoding/json"
	"fmt"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// CheckDocument refuses text that is no policy.
// Source: IAM API error MalformedPolicyDocument.
func CheckDocument(text string) error {
	var document struct {
		Statement json.RawMessage `json:"Statement"`
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || len(document.Statement) == 0 {
		return api.Errorf("MalformedPolicyDocument", "This policy contains invalid Json")
	}
	return nil
}

type policyDocumentArgs struct {
	Statements []policyStatement `json:"statements"`
	Version    string            `json:"version"`
}

type policyStatement struct {
	Sid        string            `json:"sid"`
	Effect     string            `json:"effect"`
	Actions    []string          `json:"actions"`
	Resources  []string          `json:"resources"`
	Principals []policyPrincipal `json:"principals"`
}

type policyPrincipal struct {
	Type        string   `json:"type"`
	Identifiers []string `json:"identifiers"`
}

type policyDocumentResult struct {
	ID           string `json:"id"`
	JSON         string `json:"json"`
	MinifiedJSON string `json:"minifiedJson"`
}

func getPolicyDocument(_ *store.Op, args policyDocumentArgs) (any, error) {
	text, err := renderPolicy(args)
	if err != nil {
		return nil, err
	}
	return policyDocumentResult{ID: store.StableHex(text, 10), JSON: text, MinifiedJSON: text}, nil
}

// renderedStatement is a statement as IAM reads it.
type renderedStatement struct {
	Sid       string              `json:"Sid,omitempty"`
	Effect    string              `json:"Effect"`
	Action    []string            `json:"Action,omitempty"`
	Resource  []string            `json:"Resource,omitempty"`
	Principal map[string][]string `json:"Principal,omitempty"`
}

func renderPolicy(args policyDocumentArgs) (string, error) {
	document := struct {
		Version   string              `json:"Version"`
		Statement []renderedStatement `json:"Statement"`
	}{Version: args.Version, Statement: []renderedStatement{}}
	if document.Version == "" {
		document.Version = "2012-10-17"
	}
	for _, s := range args.Statements {
		rendered := renderedStatement{
			Sid:      s.Sid,
			Effect:   s.Effect,
			Action:   s.Actions,
			Resource: s.Resources,
		}
		if rendered.Effect == "" {
			rendered.Effect = "Allow"
		}
		for _, p := range s.Principals {
			if rendered.Principal == nil {
				rendered.Principal = map[string][]string{}
			}
			rendered.Principal[p.Type] = append(rendered.Principal[p.Type], p.Identifiers...)
		}
		document.Statement = append(document.Statement, rendered)
	}
	body, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("encoding a policy document: %w", err)
	}
	return string(body), nil
}
