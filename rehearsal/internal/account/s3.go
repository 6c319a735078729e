package account

import (
	"regexp"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/resource"
)

func bucketRules(kind resource.Kind) rules[resource.Bucket] {
	return rules[resource.Bucket]{
		kind: kind, service: "S3",
		createVerb: "CreateBucket", updateVerb: "PutBucketTagging", deleteVerb: "DeleteBucket",
		rows: func(s *state) table[resource.Bucket] { return s.Buckets },
		create: func(o *op, in *resource.Bucket) (string, error) {
			in.Bucket = named(in.Bucket, in.BucketPrefix)
			// Source: S3 user guide, "Bucket naming rules".
			if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`).MatchString(in.Bucket) {
				return "", api.Errorf("InvalidBucketName", "The specified bucket is not valid. (%q)", in.Bucket)
			}
			if _, taken := o.Buckets[in.Bucket]; taken {
				return "", api.Errorf("BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.").WithStatus(409)
			}
			in.ARN = "arn:aws:s3:::" + in.Bucket
			in.BucketDomainName = in.Bucket + ".s3.amazonaws.com"
			in.BucketRegionalDomainName = in.Bucket + ".s3." + o.Region + ".amazonaws.com"
			in.Region = o.Region
			return in.Bucket, nil
		},
		remove: func(o *op, id string, _ *resource.Bucket) error {
			// What configures a bucket goes with it.
			delete(o.BucketPublicAccess, id)
			delete(o.BucketVersionings, id)
			delete(o.BucketEncryptions, id)
			delete(o.BucketLifecycles, id)
			delete(o.BucketPolicies, id)
			delete(o.BucketOwnerships, id)
			return nil
		},
	}
}

// needBucket returns S3's answer about a bucket that is not there.
func (o *op) needBucket(name string) error {
	if _, ok := o.Buckets[name]; !ok {
		return api.Errorf("NoSuchBucket", "The specified bucket does not exist (%q)", name).WithStatus(404)
	}
	return nil
}

func bucketPublicAccessRules(kind resource.Kind) rules[resource.BucketPublicAccessBlock] {
	return rules[resource.BucketPublicAccessBlock]{
		kind: kind, service: "S3",
		createVerb: "PutPublicAccessBlock", updateVerb: "PutPublicAccessBlock", deleteVerb: "DeletePublicAccessBlock",
		rows: func(s *state) table[resource.BucketPublicAccessBlock] { return s.BucketPublicAccess },
		create: func(o *op, in *resource.BucketPublicAccessBlock) (string, error) {
			return in.Bucket, o.needBucket(in.Bucket)
		},
	}
}

func bucketVersioningRules(kind resource.Kind) rules[resource.BucketVersioning] {
	return rules[resource.BucketVersioning]{
		kind: kind, service: "S3",
		createVerb: "PutBucketVersioning", updateVerb: "PutBucketVersioning", deleteVerb: "PutBucketVersioning",
		rows:   func(s *state) table[resource.BucketVersioning] { return s.BucketVersionings },
		create: func(o *op, in *resource.BucketVersioning) (string, error) { return in.Bucket, o.needBucket(in.Bucket) },
	}
}

func bucketEncryptionRules(kind resource.Kind) rules[resource.BucketEncryption] {
	return rules[resource.BucketEncryption]{
		kind: kind, service: "S3",
		createVerb: "PutBucketEncryption", updateVerb: "PutBucketEncryption", deleteVerb: "DeleteBucketEncryption",
		rows:   func(s *state) table[resource.BucketEncryption] { return s.BucketEncryptions },
		create: func(o *op, in *resource.BucketEncryption) (string, error) { return in.Bucket, o.needBucket(in.Bucket) },
	}
}

func bucketLifecycleRules(kind resource.Kind) rules[resource.BucketLifecycle] {
	return rules[resource.BucketLifecycle]{
		kind: kind, service: "S3",
		createVerb: "PutBucketLifecycleConfiguration", updateVerb: "PutBucketLifecycleConfiguration", deleteVerb: "DeleteBucketLifecycle",
		rows:   func(s *state) table[resource.BucketLifecycle] { return s.BucketLifecycles },
		create: func(o *op, in *resource.BucketLifecycle) (string, error) { return in.Bucket, o.needBucket(in.Bucket) },
	}
}

func bucketPolicyRules(kind resource.Kind) rules[resource.BucketPolicy] {
	return rules[resource.BucketPolicy]{
		kind: kind, service: "S3",
		createVerb: "PutBucketPolicy", updateVerb: "PutBucketPolicy", deleteVerb: "DeleteBucketPolicy",
		rows: func(s *state) table[resource.BucketPolicy] { return s.BucketPolicies },
		create: func(o *op, in *resource.BucketPolicy) (string, error) {
			if err := o.needBucket(in.Bucket); err != nil {
				return "", err
			}
			return in.Bucket, checkDocument(string(in.Policy))
		},
		update: func(_ *op, _ string, _, in *resource.BucketPolicy) error { return checkDocument(string(in.Policy)) },
	}
}

func bucketOwnershipRules(kind resource.Kind) rules[resource.BucketOwnership] {
	return rules[resource.BucketOwnership]{
		kind: kind, service: "S3",
		createVerb: "PutBucketOwnershipControls", updateVerb: "PutBucketOwnershipControls", deleteVerb: "DeleteBucketOwnershipControls",
		rows:   func(s *state) table[resource.BucketOwnership] { return s.BucketOwnerships },
		create: func(o *op, in *resource.BucketOwnership) (string, error) { return in.Bucket, o.needBucket(in.Bucket) },
	}
}
