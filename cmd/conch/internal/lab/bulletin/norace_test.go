//go:build !race

package bulletin

const Raced = false
