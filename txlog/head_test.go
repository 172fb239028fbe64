package txlog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
)

// A head is taken only if the member that it names has signed all of it (V6).
func TestAHeadIsSigned(t *testing.T) {
	t.Parallel()
	members := sampleGenesis().Members
	good := sampleHead(t)
	if err := good.Verify(members); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(h *Head)
		want   error
	}{
		"the log":              {func(h *Head) { h.Log[0]++ }, ErrSignature},
		"the index":            {func(h *Head) { h.Index++ }, ErrSignature},
		"the term":             {func(h *Head) { h.Term++ }, ErrSignature},
		"the hash":             {func(h *Head) { h.Hash[0]++ }, ErrSignature},
		"the state":            {func(h *Head) { h.State[0]++ }, ErrSignature},
		"another member":       {func(h *Head) { h.Member = "bob" }, ErrSignature},
		"nobody":               {func(h *Head) { h.Member = "" }, ErrStranger},
		"a stranger":           {func(h *Head) { *h = withMember(*h, "eve") }, ErrStranger},
		"a stranger's key":     {func(h *Head) { *h = h.Sign(key("eve")) }, ErrSignature},
		"no signature":         {func(h *Head) { h.Signature = nil }, ErrSignature},
		"half a signature":     {func(h *Head) { h.Signature = h.Signature[:50] }, ErrSignature},
		"a bit of a signature": {func(h *Head) { h.Signature[95] ^= 1 }, ErrSignature},
	} {
		h := good
		h.Signature = append([]byte(nil), good.Signature...)
		c.change(&h)
		if err := h.Verify(members); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	nameless := []Member{{Name: "ann", Store: 11}}
	if err := good.Verify(nameless); !errors.Is(err, ErrSignature) {
		t.Errorf("a member without a key has signed: %v", err)
	}
}

func withMember(h Head, name string) Head {
	h.Member = name
	return h.Sign(key(name))
}

// Two heads differ if both cannot be true: at one index, in hash or state. The term alone is not enough, since it is in the hash.
func TestForked(t *testing.T) {
	t.Parallel()
	base := sampleHead(t)
	for name, c := range map[string]struct {
		change func(h *Head)
		forked bool
	}{
		"the same": {func(*Head) {}, false}, "by another member": {func(h *Head) { h.Member = "bob" }, false},
		"a later one": {func(h *Head) { h.Index++; h.Hash[0]++ }, false}, "another log": {func(h *Head) { h.Log[0]++; h.Hash[0]++ }, false},
		"another hash": {func(h *Head) { h.Hash[0]++ }, true}, "another state": {func(h *Head) { h.State[0]++ }, true},
	} {
		h := base
		c.change(&h)
		if h.Forked(base) != c.forked || base.Forked(h) != c.forked {
			t.Errorf("%s: forked is %v", name, h.Forked(base))
		}
	}
}

// The fingerprint is the one that a certificate has: operators compare the two.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	der, err := x509.MarshalPKIXPublicKey(public("ann"))
	if err != nil {
		t.Fatal(err)
	}
	if Fingerprint(public("ann")) != Hash(sha256.Sum256(der)) || Fingerprint(ed25519.PublicKey{1}) == Fingerprint(public("ann")) {
		t.Error("the fingerprint is another one")
	}
}

// A hash is read as it is written, and nothing else is.
func TestHashText(t *testing.T) {
	t.Parallel()
	text, _ := counting(1).MarshalText()
	var h Hash
	if err := h.UnmarshalText(text); err != nil || h != counting(1) || string(text) != h.String() || !strings.HasPrefix(string(text), h.Short()) {
		t.Errorf("it is read as %s, %v", h, err)
	}
	for _, bad := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("0", 65), strings.Repeat("g", 64), strings.Repeat("0", 66)} {
		if err := h.UnmarshalText([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
