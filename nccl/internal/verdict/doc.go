// Package verdict judges the model of a job and writes the report.
package verdict
