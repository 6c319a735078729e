package account

import (
	"fmt"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

// A KMS key is never deleted at once: it waits 7 to 30 days, and does not bill then.
// Source: KMS developer guide, "Delete an AWS KMS key", and KMS pricing.
func keyRules(kind resource.Kind) rules[resource.Key] {
	return rules[resource.Key]{
		kind: kind, service: "KMS",
		createVerb: "CreateKey", updateVerb: "PutKeyPolicy", deleteVerb: "ScheduleKeyDeletion",
		rows: func(s *state) table[resource.Key] { return s.Keys },
		keep: true,
		hide: func(row *resource.Key) bool { return row.PendingUntil != "" },
		create: func(o *op, in *resource.Key) (string, error) {
			if err := checkKey(in); err != nil {
				return "", err
			}
			id := fmt.Sprintf("%s-%s-%s-%s-%s", randomHex(8), randomHex(4), randomHex(4), randomHex(4), randomHex(12))
			in.KeyID, in.ARN = id, o.arn("kms", "key/"+id)
			return id, nil
		},
		update: func(_ *op, _ string, _, in *resource.Key) error { return checkKey(in) },
		remove: func(o *op, _ string, gone *resource.Key) error {
			days := gone.DeletionWindowInDays
			if days == 0 {
				days = 30
			}
			gone.PendingUntil = o.now.AddDate(0, 0, days).Format(time.RFC3339)
			return nil
		},
	}
}

func checkKey(in *resource.Key) error {
	// Source: KMS API, ScheduleKeyDeletion, PendingWindowInDays.
	if in.DeletionWindowInDays != 0 && (in.DeletionWindowInDays < 7 || in.DeletionWindowInDays > 30) {
		return api.Errorf("ValidationException", "expected deletionWindowInDays to be in the range (7 - 30), got %d", in.DeletionWindowInDays)
	}
	if in.Policy != "" {
		return checkDocument(string(in.Policy))
	}
	return nil
}

func aliasRules(kind resource.Kind) rules[resource.Alias] {
	return rules[resource.Alias]{
		kind: kind, service: "KMS",
		createVerb: "CreateAlias", updateVerb: "UpdateAlias", deleteVerb: "DeleteAlias",
		rows: func(s *state) table[resource.Alias] { return s.Aliases },
		create: func(o *op, in *resource.Alias) (string, error) {
			in.Name = named(in.Name, in.NamePrefix)
			// Source: KMS API, CreateAlias: the name begins with alias/, not alias/aws/.
			if !strings.HasPrefix(in.Name, "alias/") || strings.HasPrefix(in.Name, "alias/aws/") {
				return "", api.Errorf("ValidationException", "name must begin with 'alias/' and not with 'alias/aws/', got %q", in.Name)
			}
			if _, taken := o.Aliases[in.Name]; taken {
				return "", api.Errorf("AlreadyExistsException", "An alias with the name %s already exists", o.arn("kms", in.Name))
			}
			return in.Name, o.pointAlias(in)
		},
		update: func(o *op, _ string, _, in *resource.Alias) error { return o.pointAlias(in) },
	}
}

func (o *op) pointAlias(in *resource.Alias) error {
	key, err := o.usableKey(in.TargetKeyID)
	if err != nil {
		return err
	}
	in.ARN, in.TargetKeyARN = o.arn("kms", in.Name), key.ARN
	return nil
}

// usableKey returns a key by id or ARN.
// Source: KMS API errors NotFoundException and KMSInvalidStateException.
func (o *op) usableKey(ref string) (*resource.Key, error) {
	for _, id := range o.Keys.sorted() {
		key := o.Keys[id]
		if id != ref && key.ARN != ref {
			continue
		}
		if key.PendingUntil != "" {
			return nil, api.Errorf("KMSInvalidStateException", "%s is pending deletion.", key.ARN)
		}
		return key, nil
	}
	return nil, api.Errorf("NotFoundException", "Key '%s' does not exist", ref)
}
