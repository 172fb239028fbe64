// Package trie computes the roots of Substrate's tries: of a block's extrinsics, and of a state. With the first a body is proven
// by its header, and so needs no trust in the endpoint that served it.
//
// A trie is of radix 16, without extension nodes, and hashed with Blake2-256. A node below 32 bytes stands in its parent as it is.
//
// Sources: the Polkadot specification, "State storage"; requirement S18, Z11.
package trie

import (
	"bytes"
	"slices"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// Layout is how a node holds a value. A header does not say it: the runtime's version does, as its state version.
type Layout int

// The layouts that there are. That of a block's extrinsics is the first up to system version 1, and the second from 2 on.
const (
	V0 Layout = iota
	V1        // a value of 33 bytes or more stands in its node as its hash
)

// longest is the length of the longest value that a node of the second layout holds itself.
const longest = 32

// Entry is a key and its value.
type Entry struct{ Key, Value []byte }

// OrderedRoot returns the root of a list, in which a value's key is its compact index: that of a block's extrinsics.
func OrderedRoot(layout Layout, values [][]byte) [32]byte {
	entries := make([]Entry, len(values))
	for i, v := range values {
		entries[i] = Entry{scale.AppendCompact(nil, uint64(i)), v}
	}
	return Root(layout, entries)
}

// Root returns the root of entries, in any order. Of two with one key the later counts. It changes the order of entries.
func Root(layout Layout, entries []Entry) [32]byte {
	if len(entries) == 0 {
		return blake2b.Sum256([]byte{0})
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	unique := entries[:0]
	for _, e := range entries {
		if n := len(unique); n > 0 && bytes.Equal(unique[n-1].Key, e.Key) {
			unique[n-1] = e
		} else {
			unique = append(unique, e)
		}
	}
	return blake2b.Sum256(appendNode(nil, layout, unique, 0))
}

// What a node is stands in the highest bits of its first byte; the number of nibbles of its key is in the others.
const (
	leaf         = 0b01 << 6
	branch       = 0b10 << 6
	valuedBranch = 0b11 << 6
	hashedLeaf   = 0b001 << 5
	hashedBranch = 0b0001 << 4
)

// appendNode encodes the node of sorted entries, of whose keys the parents have taken the first nibbles.
func appendNode(b []byte, layout Layout, entries []Entry, taken int) []byte {
	first, last := entries[0].Key, entries[len(entries)-1].Key
	end := taken
	for end < 2*len(first) && end < 2*len(last) && nibble(first, end) == nibble(last, end) {
		end++
	}
	var value []byte
	valued := end == 2*len(first) // the shortest key is the first
	if valued {
		value = entries[0].Value
		entries = entries[1:]
	}
	hashed := valued && layout == V1 && len(value) > longest
	b = appendHeader(b, len(entries) > 0, valued, hashed, end-taken)
	b = appendNibbles(b, first, taken, end)
	bitmap := len(b)
	if len(entries) > 0 {
		b = append(b, 0, 0)
	}
	switch {
	case hashed:
		sum := blake2b.Sum256(value)
		b = append(b, sum[:]...)
	case valued:
		b = append(scale.AppendCompact(b, uint64(len(value))), value...)
	}
	for len(entries) > 0 {
		at := nibble(entries[0].Key, end)
		n := 1
		for n < len(entries) && nibble(entries[n].Key, end) == at {
			n++
		}
		b[bitmap+int(at)/8] |= 1 << (at % 8)
		b = appendChild(b, appendNode(nil, layout, entries[:n], end+1))
		entries = entries[n:]
	}
	return b
}

// appendChild encodes what a parent says of a child: the child itself, or its hash if that is not longer.
func appendChild(b, child []byte) []byte {
	if len(child) >= blake2b.Size256 {
		sum := blake2b.Sum256(child)
		child = sum[:]
	}
	return append(scale.AppendCompact(b, uint64(len(child))), child...)
}

// appendHeader encodes what a node is and how many nibbles its own part of the key has.
func appendHeader(b []byte, branches, valued, hashed bool, nibbles int) []byte {
	kind, room := byte(leaf), 1<<6-1
	switch {
	case branches && hashed:
		kind, room = hashedBranch, 1<<4-1
	case hashed:
		kind, room = hashedLeaf, 1<<5-1
	case branches && valued:
		kind = valuedBranch
	case branches:
		kind = branch
	}
	if nibbles < room {
		return append(b, kind|byte(nibbles))
	}
	b = append(b, kind|byte(room))
	for nibbles -= room; nibbles >= 255; nibbles -= 255 {
		b = append(b, 255)
	}
	return append(b, byte(nibbles))
}

// appendNibbles encodes a part of a key; of an odd number the first stands alone.
func appendNibbles(b, key []byte, from, to int) []byte {
	if (to-from)%2 == 1 {
		b = append(b, nibble(key, from))
		from++
	}
	for ; from < to; from += 2 {
		b = append(b, nibble(key, from)<<4|nibble(key, from+1))
	}
	return b
}

func nibble(key []byte, at int) byte {
	if at%2 == 0 {
		return key[at/2] >> 4
	}
	return key[at/2] & 15
}
