//go:build !race

package agent_test

const large = 50
