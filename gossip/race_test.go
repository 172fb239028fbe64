//go:build race

package gossip_test

const (
	raced = true
	large = 20 // nodes of a large crowd. The race detector makes each ten times as slow.
)
