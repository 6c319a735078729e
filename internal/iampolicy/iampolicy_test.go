package iampolicy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/iampolicy"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	trust, err := iampolicy.Trust("ec2.amazonaws.com", "sts:AssumeRole")
	require.NoError(t, err)
	assert.JSONEq(t, `{"Version":"2012-10-17","Statement":[{
		"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":["sts:AssumeRole"]}]}`, trust)
	document, err := iampolicy.Document(iampolicy.Statement{
		Sid: "One", Actions: []string{"s3:GetObject"}, Resources: []string{"arn:aws:s3:::b/*"},
		Conditions: map[string]map[string]string{"Bool": {"aws:SecureTransport": "true"}},
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"Version":"2012-10-17","Statement":[{
		"Sid":"One","Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::b/*"],
		"Condition":{"Bool":{"aws:SecureTransport":"true"}}}]}`, document)
}
