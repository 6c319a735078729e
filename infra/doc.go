// Package infra makes what the cluster stands on: the network, the fabric that EFA needs, and what outlives a control plane.
package infra
