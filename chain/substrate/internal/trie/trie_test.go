package trie_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/internal/trie"
)

// TestKnownRoots compares with roots that others have computed (Z11): the empty trie's is in every empty block, and a block
// of a public chain has proven its own.
func TestKnownRoots(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name, want string
		values     []string
	}{
		{"no extrinsics", "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314", nil},
		{"block 707 of Avail", "3c9492204d29fc822f5a046d252119f6be0236767c8b16afedfd8457eafd5ec3", []string{"280403000bb0037bf09301", "1004270b00"}},
	} {
		var values [][]byte
		for _, v := range one.values {
			values = append(values, unhex(t, v))
		}
		for _, layout := range []trie.Layout{trie.V0, trie.V1} { // all values are short
			if got := trie.OrderedRoot(layout, values); hex.EncodeToString(got[:]) != one.want {
				t.Errorf("%s, layout %d: the root is %x, want %s", one.name, layout, got, one.want)
			}
		}
	}
}

// TestNodesAsSpecified compares roots with nodes that are written by hand, byte by byte, from the specification.
func TestNodesAsSpecified(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte{7}, 33)
	hash := blake2b.Sum256(long)
	for _, one := range []struct {
		name    string
		layout  trie.Layout
		entries []trie.Entry
		node    string
	}{
		{"a leaf", trie.V0, []trie.Entry{{[]byte{0xaa}, []byte{0xbb}}}, "42 aa 04bb"},
		{"two leaves that share nothing", trie.V0, []trie.Entry{{[]byte{0x48}, []byte{0x19}}, {[]byte{0x13}, []byte{0x14}}}, "80 1200 10 41 03 0414 10 41 08 0419"},
		{"a branch with a value", trie.V0, []trie.Entry{{[]byte{0xaa}, []byte{1}}, {[]byte{0xaa, 0x15}, []byte{2}}}, "c2 aa 0200 0401 10 41 05 0402"},
		{"an empty key", trie.V0, []trie.Entry{{nil, []byte{1}}}, "40 0401"},
		{"a long value", trie.V0, []trie.Entry{{[]byte{0xaa}, long}}, "42 aa 84" + hex.EncodeToString(long)},
		{"a long value, hashed", trie.V1, []trie.Entry{{[]byte{0xaa}, long}}, "22 aa" + hex.EncodeToString(hash[:])},
		{"a value of 32 bytes is not hashed", trie.V1, []trie.Entry{{[]byte{0xaa}, long[:32]}}, "42 aa 80" + hex.EncodeToString(long[:32])},
		{"a branch with a long value", trie.V1, []trie.Entry{{[]byte{0xaa}, long}, {[]byte{0xaa, 0x15}, []byte{2}}}, "12 aa 0200" + hex.EncodeToString(hash[:]) + "10 41 05 0402"},
		{"63 nibbles and more", trie.V0, []trie.Entry{{bytes.Repeat([]byte{0x11}, 32), []byte{1}}}, "7f 01" + strings.Repeat("11", 32) + "0401"},
		{"the later of two", trie.V0, []trie.Entry{{[]byte{0xaa}, []byte{1}}, {[]byte{0xaa}, []byte{0xbb}}}, "42 aa 04bb"},
	} {
		want := blake2b.Sum256(unhex(t, strings.ReplaceAll(one.node, " ", "")))
		if got := trie.Root(one.layout, one.entries); got != want {
			t.Errorf("%s: the root is %x, want %x", one.name, got, want)
		}
	}
}

// TestSlowTrie compares with a second implementation: a tree of maps that grows entry by entry.
func TestSlowTrie(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 51))
		entries := make([]trie.Entry, 1+random.IntN(40))
		for i := range entries {
			key := make([]byte, random.IntN(4))
			if seed%7 == 0 { // long parts of keys in common
				key = append(make([]byte, 30+random.IntN(300)), key...)
			}
			for j := range key[max(0, len(key)-3):] {
				key[len(key)-1-j] = byte(random.IntN(3) * 0x11)
			}
			entries[i] = trie.Entry{Key: key, Value: bytes.Repeat([]byte{byte(i)}, random.IntN(70))}
		}
		for _, layout := range []trie.Layout{trie.V0, trie.V1} {
			want := slow(layout, entries)
			if got := trie.Root(layout, append([]trie.Entry(nil), entries...)); got != want {
				t.Fatalf("seed %d, layout %d: the root is %x, want %x of the slow trie", seed, layout, got, want)
			}
		}
	}
}

// TestOrderedKeys tells that an index is compact: 64 and 16,384 begin a new length.
func TestOrderedKeys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 63, 64, 65, 16383, 16385} {
		values, entries := make([][]byte, n), make([]trie.Entry, n)
		for i := range values {
			values[i] = fmt.Append(nil, "extrinsic ", i)
			key := []byte{byte(i << 2)}
			if i >= 64 {
				key = []byte{byte(i<<2 | 1), byte(i >> 6)}
			}
			if i >= 16384 {
				key = []byte{byte(i<<2 | 2), byte(i >> 6), byte(i >> 14), byte(i >> 22)}
			}
			entries[i] = trie.Entry{Key: key, Value: values[i]}
		}
		if got, want := trie.OrderedRoot(trie.V0, values), slow(trie.V0, entries); got != want {
			t.Errorf("%d values: the root is %x, want %x", n, got, want)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// twig is a node of the slow trie: one for each nibble.
type twig struct {
	below map[byte]*twig
	value *[]byte
}

func slow(layout trie.Layout, entries []trie.Entry) [32]byte {
	root := &twig{below: map[byte]*twig{}}
	for _, e := range entries {
		at := root
		for _, n := range []byte(hex.EncodeToString(e.Key)) {
			if at.below[n] == nil {
				at.below[n] = &twig{below: map[byte]*twig{}}
			}
			at = at.below[n]
		}
		at.value = &e.Value
	}
	return blake2b.Sum256(root.encode(layout, ""))
}

// encode joins twigs that have nothing but one below, and writes the node with the path to it as hex.
func (t *twig) encode(layout trie.Layout, path string) []byte {
	if t.value == nil && len(t.below) == 1 {
		for n, only := range t.below {
			return only.encode(layout, path+string(n))
		}
	}
	kind, bits := 0b01, 2
	hashed := t.value != nil && layout == trie.V1 && len(*t.value) >= 33
	switch {
	case hashed && len(t.below) > 0:
		kind, bits = 0b0001, 4
	case hashed:
		kind, bits = 0b001, 3
	case t.value != nil && len(t.below) > 0:
		kind = 0b11
	case len(t.below) > 0:
		kind = 0b10
	}
	most := 1<<(8-bits) - 1
	out := []byte{byte(kind<<(8-bits) | min(most, len(path)))}
	if left := len(path) - most; left >= 0 {
		for ; left >= 255; left -= 255 {
			out = append(out, 255)
		}
		out = append(out, byte(left))
	}
	if len(path)%2 == 1 {
		path = "0" + path
	}
	nibbles, _ := hex.DecodeString(path)
	out = append(out, nibbles...)
	var children []byte
	if len(t.below) > 0 {
		var bitmap uint16
		for i, n := range []byte("0123456789abcdef") {
			if child := t.below[n]; child != nil {
				bitmap |= 1 << i
				encoded := child.encode(layout, "")
				if len(encoded) >= 32 {
					sum := blake2b.Sum256(encoded)
					encoded = sum[:]
				}
				children = append(append(children, byte(len(encoded)<<2)), encoded...)
			}
		}
		out = append(out, byte(bitmap), byte(bitmap>>8))
	}
	switch {
	case hashed:
		sum := blake2b.Sum256(*t.value)
		out = append(out, sum[:]...)
	case t.value != nil && len(*t.value) < 64:
		out = append(append(out, byte(len(*t.value)<<2)), *t.value...)
	case t.value != nil:
		n := len(*t.value)<<2 | 1
		out = append(append(out, byte(n), byte(n>>8)), *t.value...)
	}
	return append(out, children...)
}
