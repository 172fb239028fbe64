//go:build !race

package crowd_test

const raced = false
