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

// nobody is an address of the same scheme at which nobody listens: port 1, since one that
// was closed a moment ago may be another's by now.
func nobody(t testing.TB, like string) string {
	t.Helper()
	u, err := url.Parse(like)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = "127.0.0.1:1"
	return u.String()
}

// keptAddress is one that stays free for a program that cannot be given port 0: its port is
// below those that the kernel gives to everybody else who asks for any.
func keptAddress(t testing.TB) string {
	t.Helper()
	const lowest, tries = 20_000, 50
	first := 32_768 // where Linux begins, if it does not say so; most others begin higher
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	low, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\t")
	if n, err := strconv.Atoi(low); err == nil {
		first = n
	}
	var fault error
	for range tries {
		port := 0 // of a kernel that gives all of them away
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
