//go:build race

package agent_test

// large is the number of nodes of a large crowd. The race detector makes each ten times as slow.
const large = 20
