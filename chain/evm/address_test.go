package evm_test

import (
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// unusedAddress returns an address of the same scheme without a listener. It uses port 1, since
// another program may have taken a port that was just closed.
func unusedAddress(t testing.TB, like string) string {
	t.Helper()
	u, err := url.Parse(like)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = "127.0.0.1:1"
	return u.String()
}

// keptAddress returns an address whose port stays free: it is below those that the kernel gives away.
func keptAddress(t testing.TB) string {
	t.Helper()
	const lowest, tries = 20_000, 50
	first := 32_768 // lowest port that Linux gives away by default; most systems begin higher
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	low, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\t")
	if n, err := strconv.Atoi(low); err == nil {
		first = n
	}
	var fault error
	for range tries {
		port := 0 // for a kernel that gives away all ports
		if first > lowest {
			port = lowest + rand.IntN(first-lowest)
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			address := l.Addr().String()
			_ = l.Close()
			return address
		}
		fault = err
	}
	t.Fatal(fault)
	return ""
}
