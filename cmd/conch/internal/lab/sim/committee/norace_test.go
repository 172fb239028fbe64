//go:build !race

package committee_test

const raced = false
