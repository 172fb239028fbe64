//go:build !race

package spread_test

const raced = false
