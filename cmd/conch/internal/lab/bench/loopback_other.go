//go:build unix && !linux

package bench

// loopback counts on Linux only.
func loopback() uint64 { return 0 }
