package mtls_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

// Both sides read what the other claims, at the start and when it changes.
func TestClaims(t *testing.T) {
	t.Parallel()
	all := network(t, "a", "b")
	a, b := all["a"], all["b"]
	if err := a.Claim("sequencer", transport.Claims{"contract 1": []byte("hash 1")}); err != nil {
		t.Fatal(err)
	}
	said := func(n *node, of, subject, want string) func() bool {
		return func() bool {
			claims, heard := n.Claimed(of, subject)
			return heard && fmt.Sprintf("%s", map[string][]byte(claims)) == want
		}
	}
	eventually(t, "b reads a's", said(b, "a", "sequencer", "map[contract 1:hash 1]"))
	eventually(t, "b has said nothing", said(a, "b", "sequencer", "map[]"))
	value := []byte("hash 2")
	if err := a.Claim("sequencer", transport.Claims{"contract 1": value, "contract 2": nil}); err != nil {
		t.Fatal(err)
	}
	value[0] = 'X' // it was copied
	if err := a.Claim("log", transport.Claims{"x": {0}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b reads a's new ones", said(b, "a", "sequencer", "map[contract 1:hash 2 contract 2:]"))
	eventually(t, "b reads those of another subject", said(b, "a", "log", "map[x:\x00]"))
	if _, heard := a.Claimed("nobody", "log"); heard {
		t.Error("a stranger was heard")
	}
	if claims, _ := b.Claimed("a", "log"); claims != nil {
		claims["x"][0] = 9
	}
	eventually(t, "a reader does not change them", said(b, "a", "log", "map[x:\x00]"))
}

func TestClaimsHaveLimits(t *testing.T) {
	t.Parallel()
	n := network(t, "a")["a"]
	many := transport.Claims{}
	for i := range 1024 {
		many[fmt.Sprintf("%0128d", i)] = []byte(strings.Repeat("x", 128))
	}
	if err := n.Claim("s", many); err != nil {
		t.Errorf("1024 of the longest claims: %v", err)
	}
	for what, err := range map[string]error{
		"one more":         n.Claim("t", transport.Claims{"x": nil}),
		"a long key":       n.Claim("s", transport.Claims{strings.Repeat("x", 129): nil}),
		"a long value":     n.Claim("s", transport.Claims{"x": make([]byte, 129)}),
		"no subject":       n.Claim("", nil),
		"a subject's size": n.Claim(strings.Repeat("x", 65), nil),
	} {
		if err == nil {
			t.Errorf("%s is allowed", what)
		}
	}
	if _, err := n.Open(strings.Repeat("x", 65)); err == nil {
		t.Error("a line of a long subject is allowed")
	}
}

// The most that may be claimed fits into a hello.
func TestTheLargestHello(t *testing.T) {
	t.Parallel()
	a, b := impostor(t)
	many := transport.Claims{}
	for i := range 1024 {
		many[fmt.Sprintf("%0128d", i)] = []byte(strings.Repeat("x", 128))
	}
	if err := a.Claim(strings.Repeat("s", 64), many); err != nil {
		t.Fatal(err)
	}
	if err := b.Packet(mtls.HelloOf(mtls.Version, "b", map[string]transport.Claims{strings.Repeat("s", 64): many})); err != nil {
		t.Fatal(err)
	}
	if packet, err := b.Hear(); err != nil || len(packet) < 1024*(64+128+128) {
		t.Errorf("heard %d bytes, error %v", len(packet), err)
	}
	eventually(t, "a has heard all claims", func() bool {
		claims, heard := a.Claimed("b", strings.Repeat("s", 64))
		return heard && len(claims) == 1024
	})
}
