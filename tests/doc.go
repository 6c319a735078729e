// Package tests runs the whole program without a cloud and looks at what it asked for.
package tests
