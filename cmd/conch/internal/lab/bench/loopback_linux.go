package bench

import (
	"os"
	"strconv"
	"strings"
)

// loopback returns how many bytes have come over the loopback, with the headers of IP, TCP and UDP.
func loopback() uint64 {
	text, _ := os.ReadFile("/proc/net/dev") // without it nothing is told
	for line := range strings.Lines(string(text)) {
		if counts, is := strings.CutPrefix(strings.TrimSpace(line), "lo:"); is {
			first, _, _ := strings.Cut(strings.TrimSpace(counts), " ")
			bytes, _ := strconv.ParseUint(first, 10, 64)
			return bytes
		}
	}
	return 0
}
