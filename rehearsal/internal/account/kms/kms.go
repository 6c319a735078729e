// Package kms holds the resource types and rules of KMS.
package kms

import (
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Types are the resource types of KMS.
func Types() []store.AnyType { return []store.AnyType{keyType(), aliasType()} }

// Key is aws:kms/key:Key.
type Key struct {
	CustomerMasterKeySpec string          `json:"customerMasterKeySpec,omitempty" aws:"replace,initial=SYMMETRIC_DEFAULT"`
	DeletionWindowInDays  int             `json:"deletionWindowInDays,omitempty"`
	Description           string          `json:"description,omitempty" aws:"default"`
	EnableKeyRotation     bool            `json:"enableKeyRotation"`
	IsEnabled             *bool           `json:"isEnabled,omitempty"`
	KeyUsage              string          `json:"keyUsage,omitempty" aws:"replace,initial=ENCRYPT_DECRYPT"`
	MultiRegion           bool            `json:"multiRegion,omitempty" aws:"replace"`
	Policy                schema.Document `json:"policy,omitempty" aws:"default"`
	RotationPeriodInDays  int             `json:"rotationPeriodInDays,omitempty" aws:"default"`
	schema.Tagged

	ARN   string `json:"arn,omitempty" aws:"computed"`
	KeyID string `json:"keyId,omitempty" aws:"computed"`
	// PendingUntil is set, in RFC 3339, once the key is scheduled for deletion.
	PendingUntil string `json:"_pendingUntil,omitempty" aws:"hidden"`
}

// Alias is aws:kms/alias:Alias.
type Alias struct {
	Name        string `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix  string `json:"namePrefix,omitempty" aws:"replace"`
	TargetKeyID string `json:"targetKeyId" aws:"required"`

	ARN          string `json:"arn,omitempty" aws:"computed"`
	TargetKeyARN string `json:"targetKeyArn,omitempty" aws:"computed"`
}

// Keys is the token of Key.
const Keys store.Token[Key] = "aws:kms/key:Key"

// A KMS key is deleted after 7 to 30 days. It costs nothing in that time.
// Source: KMS developer guide, "Delete an AWS KMS key", and KMS pricing.
func keyType() store.Type[Key] {
	return store.Type[Key]{
		Service:   "KMS",
		CreateAPI: "CreateKey", UpdateAPI: "PutKeyPolicy", DeleteAPI: "ScheduleKeyDeletion",
		CreateSeconds: 2, // Terraform provider: waits for state Enabled
		Token:         Keys,
		Item: func(_ *store.Op, row *Key) api.Item {
			if row.PendingUntil != "" {
				return api.Item{
					Note: "pending deletion until " + row.PendingUntil + ", not billing",
				}
			}
			return store.Bills(priceKey, "1 $ a month")
		},
		Retained: true,
		Hidden:   func(row *Key) bool { return row.PendingUntil != "" },
		Create: func(o *store.Op, in *Key) (string, error) {
			if err := checkKey(in); err != nil {
				return "", err
			}
			id := store.NewUUID()
			in.KeyID, in.ARN = id, o.ARN("kms", "key/"+id)
			return id, nil
		},
		Update: func(_ *store.Op, _ string, _, in *Key) error { return checkKey(in) },
		Delete: func(o *store.Op, _ string, gone *Key) error {
			days := gone.DeletionWindowInDays
			if days == 0 {
				days = 30
			}
			gone.PendingUntil = o.Now.AddDate(0, 0, days).Format(time.RFC3339)
			return nil
		},
	}
}

func checkKey(in *Key) error {
	// Source: KMS API, ScheduleKeyDeletion, PendingWindowInDays.
	if in.DeletionWindowInDays != 0 &&
		(in.DeletionWindowInDays < 7 || in.DeletionWindowInDays > 30) {
		return api.Errorf("ValidationException",
			"expected deletionWindowInDays to be in the range (7 - 30), got %d",
			in.DeletionWindowInDays)
	}
	if in.Policy != "" {
		return iam.CheckDocument(string(in.Policy))
	}
	return nil
}

// Aliases is the token of Alias.
const Aliases store.Token[Alias] = "aws:kms/alias:Alias"

func aliasType() store.Type[Alias] {
	return store.Type[Alias]{
		Service:   "KMS",
		CreateAPI: "CreateAlias", UpdateAPI: "UpdateAlias", DeleteAPI: "DeleteAlias",
		Token: Aliases,
		Item:  store.HoldsName[Alias],
		Create: func(o *store.Op, in *Alias) (string, error) {
			in.Name = store.Named(in.Name, in.NamePrefix)
			// Source: KMS API, CreateAlias: the name begins with alias/, not alias/aws/.
			if !strings.HasPrefix(in.Name, "alias/") || strings.HasPrefix(in.Name, "alias/aws/") {
				return "", api.Errorf("ValidationException",
					"name must begin with 'alias/' and not with 'alias/aws/', got %q", in.Name)
			}
			if _, taken := Aliases.In(o)[in.Name]; taken {
				return "", api.Errorf("AlreadyExistsException",
					"An alias with the name %s already exists", o.ARN("kms", in.Name))
			}
			return in.Name, setAliasTarget(o, in)
		},
		Update: func(o *store.Op, _ string, _, in *Alias) error { return setAliasTarget(o, in) },
	}
}

func setAliasTarget(o *store.Op, in *Alias) error {
	key, err := UsableKey(o, in.TargetKeyID)
	if err != nil {
		return err
	}
	in.ARN, in.TargetKeyARN = o.ARN("kms", in.Name), key.ARN
	return nil
}

// UsableKey returns a key by id or ARN.
// Source: KMS API errors NotFoundException and KMSInvalidStateException.
func UsableKey(o *store.Op, ref string) (*Key, error) {
	for _, id := range Keys.In(o).IDs() {
		key := Keys.In(o)[id]
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

// priceKey is what a key costs per hour: 1 $ a month. Source: KMS pricing.
const priceKey = 1.0 / 730
