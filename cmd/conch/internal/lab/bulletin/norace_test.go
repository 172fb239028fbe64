//go:build !race

package bulletin_test

const raced = false
