// Package model is the model of a job that its logs show. A File is one log with its processes. A
// View is one rank of one communicator as one process printed it, and a Tally counts its channels
// of one kind. Join joins the views of all files into Evidence: communicators with their ranks,
// grouped into runs.
package model
