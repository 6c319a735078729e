// Package s3 holds the resource types and rules of S3.
package s3

import (
	"regexp"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/iam"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Types are the resource types of S3.
func Types() []store.AnyType {
	return []store.AnyType{
		bucketType(), bucketPublicAccessType(), bucketVersioningType(), bucketEncryptionType(),
		bucketLifecycleType(), bucketPolicyType(), bucketOwnershipType(),
	}
}

// Bucket is aws:s3/bucketV2:BucketV2.
type Bucket struct {
	Bucket            string `json:"bucket,omitempty" aws:"autoname,replace"`
	BucketPrefix      string `json:"bucketPrefix,omitempty" aws:"replace"`
	ForceDestroy      bool   `json:"forceDestroy"`
	ObjectLockEnabled bool   `json:"objectLockEnabled,omitempty" aws:"replace"`
	schema.Tagged

	ARN                      string `json:"arn,omitempty" aws:"computed"`
	BucketDomainName         string `json:"bucketDomainName,omitempty" aws:"computed"`
	BucketRegionalDomainName string `json:"bucketRegionalDomainName,omitempty" aws:"computed"`
	HostedZoneID             string `json:"hostedZoneId,omitempty" aws:"computed"`
	Region                   string `json:"region,omitempty" aws:"computed"`
}

// BucketPublicAccessBlock is aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock.
type BucketPublicAccessBlock struct {
	Bucket                string `json:"bucket" aws:"required,replace"`
	BlockPublicAcls       bool   `json:"blockPublicAcls"`
	BlockPublicPolicy     bool   `json:"blockPublicPolicy"`
	IgnorePublicAcls      bool   `json:"ignorePublicAcls"`
	RestrictPublicBuckets bool   `json:"restrictPublicBuckets"`
}

// BucketVersioning is aws:s3/bucketVersioningV2:BucketVersioningV2.
type BucketVersioning struct {
	Bucket                  string          `json:"bucket" aws:"required,replace"`
	VersioningConfiguration BucketVersioned `json:"versioningConfiguration" aws:"required"`
}

// BucketVersioned is Enabled, Suspended or Disabled.
type BucketVersioned struct {
	Status string `json:"status" aws:"required"`
}

// BucketEncryption is
// aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2.
type BucketEncryption struct {
	Bucket string                 `json:"bucket" aws:"required,replace"`
	Rules  []BucketEncryptionRule `json:"rules" aws:"required"`
}

// BucketEncryptionRule is one rule of it.
type BucketEncryptionRule struct {
	ApplyServerSideEncryptionByDefault *BucketEncryptionDefault `json:"applyServerSideEncryptionByDefault,omitempty"`
	BucketKeyEnabled                   bool                     `json:"bucketKeyEnabled,omitempty"`
}

// BucketEncryptionDefault is AES256 or aws:kms with a key.
type BucketEncryptionDefault struct {
	KMSMasterKeyID string `json:"kmsMasterKeyId,omitempty"`
	SSEAlgorithm   string `json:"sseAlgorithm" aws:"required"`
}

// BucketLifecycle is
// aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2.
type BucketLifecycle struct {
	Bucket string                `json:"bucket" aws:"required,replace"`
	Rules  []BucketLifecycleRule `json:"rules,omitempty"`
}

// BucketLifecycleRule deletes old objects.
type BucketLifecycleRule struct {
	ID                             string            `json:"id" aws:"required"`
	Status                         string            `json:"status" aws:"required"`
	Prefix                         string            `json:"prefix,omitempty"`
	Filter                         *LifecycleFilter  `json:"filter,omitempty"`
	Expiration                     *LifecycleDays    `json:"expiration,omitempty"`
	AbortIncompleteMultipartUpload *LifecycleAbort   `json:"abortIncompleteMultipartUpload,omitempty"`
	NoncurrentVersionExpiration    *LifecycleVersion `json:"noncurrentVersionExpiration,omitempty"`
}

// LifecycleFilter selects objects by prefix.
type LifecycleFilter struct {
	Prefix string `json:"prefix,omitempty"`
}

// LifecycleDays expires objects after some days.
type LifecycleDays struct {
	Days int `json:"days,omitempty"`
}

// LifecycleAbort ends unfinished uploads after some days.
type LifecycleAbort struct {
	DaysAfterInitiation int `json:"daysAfterInitiation,omitempty"`
}

// LifecycleVersion expires old versions after some days.
type LifecycleVersion struct {
	NoncurrentDays int `json:"noncurrentDays" aws:"required"`
}

// BucketPolicy is aws:s3/bucketPolicy:BucketPolicy.
type BucketPolicy struct {
	Bucket string          `json:"bucket" aws:"required,replace"`
	Policy schema.Document `json:"policy" aws:"required"`
}

// BucketOwnership is aws:s3/bucketOwnershipControls:BucketOwnershipControls.
type BucketOwnership struct {
	Bucket string              `json:"bucket" aws:"required,replace"`
	Rule   BucketOwnershipRule `json:"rule" aws:"required"`
}

// BucketOwnershipRule is who owns objects.
type BucketOwnershipRule struct {
	ObjectOwnership string `json:"objectOwnership" aws:"required"`
}

// Buckets is the token of Bucket.
const Buckets store.Token[Bucket] = "aws:s3/bucketV2:BucketV2"

func bucketType() store.Type[Bucket] {
	return store.Type[Bucket]{
		Service:   "S3",
		CreateAPI: "CreateBucket", UpdateAPI: "PutBucketTagging", DeleteAPI: "DeleteBucket",
		Token: Buckets,
		Item:  store.HoldsName[Bucket],
		Create: func(o *store.Op, in *Bucket) (string, error) {
			in.Bucket = store.Named(in.Bucket, in.BucketPrefix)
			// Source: S3 user guide, "Bucket naming rules".
			if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`).MatchString(in.Bucket) {
				return "", api.Errorf("InvalidBucketName",
					"The specified bucket is not valid. (%q)", in.Bucket)
			}
			if _, taken := Buckets.In(o)[in.Bucket]; taken {
				return "", api.Errorf("BucketAlreadyOwnedByYou",
					"Your previous request to create the named bucket succeeded and you already "+
						"own it.").WithStatus(
					409,
				)
			}
			in.ARN = "arn:aws:s3:::" + in.Bucket
			in.BucketDomainName = in.Bucket + ".s3.amazonaws.com"
			in.BucketRegionalDomainName = in.Bucket + ".s3." + o.Region + ".amazonaws.com"
			in.Region = o.Region
			return in.Bucket, nil
		},
	}
}

// BucketPublicAccess is the token of BucketPublicAccessBlock.
const BucketPublicAccess store.Token[BucketPublicAccessBlock] = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"

// BucketVersionings is the token of BucketVersioning.
const BucketVersionings store.Token[BucketVersioning] = "aws:s3/bucketVersioningV2:BucketVersioningV2"

// BucketEncryptions is the token of BucketEncryption.
const BucketEncryptions store.Token[BucketEncryption] = "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2"

// BucketLifecycles is the token of BucketLifecycle.
const BucketLifecycles store.Token[BucketLifecycle] = "aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2"

// BucketPolicies is the token of BucketPolicy.
const BucketPolicies store.Token[BucketPolicy] = "aws:s3/bucketPolicy:BucketPolicy"

// BucketOwnerships is the token of BucketOwnership.
const BucketOwnerships store.Token[BucketOwnership] = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"

// bucketPart describes a resource that configures a bucket. It has the bucket's id and
// goes with the bucket.
func bucketPart[T any](
	token store.Token[T], put, remove string, bucketOf func(*T) string, check func(*T) error,
) store.Type[T] {
	return store.Type[T]{
		Token: token, Service: "S3",
		CreateAPI: put, UpdateAPI: put, DeleteAPI: remove,
		Parent: Buckets.String(), ParentID: bucketOf,
		Create: func(o *store.Op, in *T) (string, error) {
			bucket := bucketOf(in)
			if _, ok := Buckets.In(o)[bucket]; !ok {
				return "", api.Errorf("NoSuchBucket", "The specified bucket does not exist (%q)",
					bucket).WithStatus(
					404,
				)
			}
			return bucket, check(in)
		},
		Update: func(_ *store.Op, _ string, _, in *T) error { return check(in) },
	}
}

func unchecked[T any](*T) error { return nil }

func bucketPublicAccessType() store.Type[BucketPublicAccessBlock] {
	return bucketPart(BucketPublicAccess, "PutPublicAccessBlock", "DeletePublicAccessBlock",
		func(row *BucketPublicAccessBlock) string { return row.Bucket }, unchecked)
}

func bucketVersioningType() store.Type[BucketVersioning] {
	return bucketPart(BucketVersionings, "PutBucketVersioning", "PutBucketVersioning",
		func(row *BucketVersioning) string { return row.Bucket }, unchecked)
}

func bucketEncryptionType() store.Type[BucketEncryption] {
	return bucketPart(BucketEncryptions, "PutBucketEncryption", "DeleteBucketEncryption",
		func(row *BucketEncryption) string { return row.Bucket }, unchecked)
}

func bucketLifecycleType() store.Type[BucketLifecycle] {
	return bucketPart(BucketLifecycles, "PutBucketLifecycleConfiguration", "DeleteBucketLifecycle",
		func(row *BucketLifecycle) string { return row.Bucket }, unchecked)
}

func bucketPolicyType() store.Type[BucketPolicy] {
	return bucketPart(BucketPolicies, "PutBucketPolicy", "DeleteBucketPolicy",
		func(row *BucketPolicy) string { return row.Bucket },
		func(in *BucketPolicy) error { return iam.CheckDocument(string(in.Policy)) })
}

func bucketOwnershipType() store.Type[BucketOwnership] {
	return bucketPart(BucketOwnerships, "PutBucketOwnershipControls",
		"DeleteBucketOwnershipControls", func(row *BucketOwnership) string { return row.Bucket },
		unchecked)
}
