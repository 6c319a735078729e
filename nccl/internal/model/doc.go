// Package model holds what logs show of a job: its processes, and the communicators and
// channels of each, first log by log and then joined over all of them.
package model
