// Package record finds NCCL's records in the bytes of a log and reads those that the
// judge understands.
package record
