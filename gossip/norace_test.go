//go:build !race

package gossip_test

const (
	raced = false
	large = 50
)
