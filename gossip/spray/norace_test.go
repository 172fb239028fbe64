//go:build !race

package spray

const raced = false
