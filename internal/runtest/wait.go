// Package runtest says how much the tests of a package do in a run of all of them, and how many at once: `make test` runs a slice of
// every kind of proof within minutes, `make test-whole` every test, and `make nightly` every test with more rounds and seeds.
package runtest

import (
	"flag"
	"runtime"
	"strconv"
)

// MostlyWait lets sixteen tests of a package run at once, and not only as many as there are processors. Call it in TestMain of a
// package whose tests use less than half of a processor while they run: the rest is time in which they wait for a server, blocks,
// leases and each other's nodes.
func MostlyWait() { AtOnce(16) }

// AtOnce lets some tests of a package run at once, or as many as -parallel says, or an earlier call.
func AtOnce(tests int) {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue {
		_ = n.Value.Set(strconv.Itoa(max(tests, runtime.GOMAXPROCS(0))))
	}
}
