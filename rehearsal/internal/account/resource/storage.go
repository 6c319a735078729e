package resource

// Key is aws:kms/key:Key.
type Key struct {
	CustomerMasterKeySpec string   `json:"customerMasterKeySpec,omitempty" aws:"replace,initial=SYMMETRIC_DEFAULT"`
	DeletionWindowInDays  int      `json:"deletionWindowInDays,omitempty"`
	Description           string   `json:"description,omitempty" aws:"default"`
	EnableKeyRotation     bool     `json:"enableKeyRotation"`
	IsEnabled             *bool    `json:"isEnabled,omitempty"`
	KeyUsage              string   `json:"keyUsage,omitempty" aws:"replace,initial=ENCRYPT_DECRYPT"`
	MultiRegion           bool     `json:"multiRegion,omitempty" aws:"replace"`
	Policy                Document `json:"policy,omitempty" aws:"default"`
	RotationPeriodInDays  int      `json:"rotationPeriodInDays,omitempty" aws:"default"`
	Tagged

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

// LogGroup is aws:cloudwatch/logGroup:LogGroup.
type LogGroup struct {
	Name            string `json:"name,omitempty" aws:"autoname,replace"`
	NamePrefix      string `json:"namePrefix,omitempty" aws:"replace"`
	KMSKeyID        string `json:"kmsKeyId,omitempty"`
	LogGroupClass   string `json:"logGroupClass,omitempty" aws:"default,replace"`
	RetentionInDays int    `json:"retentionInDays"`
	SkipDestroy     bool   `json:"skipDestroy,omitempty"`
	Tagged

	ARN string `json:"arn,omitempty" aws:"computed"`
	// MadeBy is the EKS cluster that created the group by itself.
	MadeBy string `json:"_madeBy,omitempty" aws:"hidden"`
}

// Bucket is aws:s3/bucketV2:BucketV2.
type Bucket struct {
	Bucket            string `json:"bucket,omitempty" aws:"autoname,replace"`
	BucketPrefix      string `json:"bucketPrefix,omitempty" aws:"replace"`
	ForceDestroy      bool   `json:"forceDestroy"`
	ObjectLockEnabled bool   `json:"objectLockEnabled,omitempty" aws:"replace"`
	Tagged

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
	Bucket string   `json:"bucket" aws:"required,replace"`
	Policy Document `json:"policy" aws:"required"`
}

// BucketOwnership is aws:s3/bucketOwnershipControls:BucketOwnershipControls.
type BucketOwnership struct {
	Bucket string              `json:"bucket" aws:"required,replace"`
	Rule   BucketOwnershipRule `json:"rule" aws:"required"`
}

// BucketOwnershipRule says who owns objects.
type BucketOwnershipRule struct {
	ObjectOwnership string `json:"objectOwnership" aws:"required"`
}
