//go:build !race

package overlay

const raced = false
