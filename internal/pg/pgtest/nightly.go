package pgtest

import "os"

// Nightly reports whether the tests shall do all that they can (make nightly). By day a test does a
// slice of the same.
func Nightly() bool { return os.Getenv("CONCH_NIGHTLY") != "" }
