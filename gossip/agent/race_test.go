//go:build race

package agent_test

const (
	raced = true
	large = 20 // nodes of a large crowd. The race detector makes each ten times as slow.
)
