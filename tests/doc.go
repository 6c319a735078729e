// Package tests runs the whole program with a mocked engine and checks the registered resources.
package tests
