package txlog

import (
	"crypto/sha256"
	"crypto/sha3"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
)

// The four numbers of a word do not touch each other.
func TestNumbersOfAWord(t *testing.T) {
	t.Parallel()
	each := func(a, b uint64, do func(x, y uint16) uint16) (out uint64) {
		for at := 0; at < 64; at += 16 {
			out |= uint64(do(uint16(a>>at), uint16(b>>at))) << at
		}
		return out
	}
	sums := func(a, b uint64) bool {
		return plus(a, b) == each(a, b, func(x, y uint16) uint16 { return x + y }) &&
			minus(a, b) == each(a, b, func(x, y uint16) uint16 { return x - y })
	}
	if err := quick.Check(sums, nil); err != nil {
		t.Fatal(err)
	}
}

// A sum says which items it has, and nothing of how they came (V7).
func TestASumIsOfASet(t *testing.T) {
	t.Parallel()
	item := func(n int) []byte { return binary.AppendVarint([]byte("item"), int64(n)) }
	var one, two, together Sum
	var hashes []Hash
	for n := range 300 {
		one.Add(item(n))
		two.Add(item(299 - n))
		two.Add(item(-n))
		hashes = append(hashes, sha256.Sum256(item(n)))
	}
	for n := range 300 {
		two.Remove(item(-n))
	}
	together.AddHashes(slices.Values(hashes[:7]))
	together.AddHashes(slices.Values[[]Hash](nil))
	together.AddHashes(slices.Values(hashes[7:]))
	if one != two || one != together || one.Hash() != two.Hash() {
		t.Fatal("one set has several sums")
	}
	one.Remove(item(5))
	if one.Hash() == two.Hash() {
		t.Fatal("an item less has the same sum")
	}
	two.Remove(item(5))
	two.Add(item(6))
	one.Add(item(6))
	if one != two {
		t.Fatal("an item twice is not counted")
	}
	for n := range 300 {
		if n != 5 {
			one.Remove(item(n))
		}
	}
	if one.Remove(item(6)); one != (Sum{}) {
		t.Fatal("nothing is left, and the sum says something")
	}
}

// What has one sum of SHA-256 has another sum here: with that one a birthday among many items would find two sets of one sum.
func TestASumIsNoSumOfHashes(t *testing.T) {
	t.Parallel()
	one, two, both, none := Hash{1, 2, 3}, Hash{4, 5, 6}, Hash{5, 7, 9}, Hash{}
	var apart, together Sum
	apart.AddHashes(slices.Values([]Hash{one, two}))
	together.AddHashes(slices.Values([]Hash{both, none}))
	if apart == together {
		t.Fatal("a sum is told from the sum of its items' hashes")
	}
	// Every one of the 1,024 numbers is an item's own: over 64 items each takes many values.
	values := make([]map[uint16]bool, sumBytes/2)
	for n := range byte(64) {
		var s Sum
		s.AddHash(Hash{n})
		for i := range values {
			if values[i] == nil {
				values[i] = map[uint16]bool{}
			}
			values[i][uint16(s[i/4]>>(16*(i%4)))] = true
		}
	}
	for i, of := range values {
		if len(of) < 56 {
			t.Errorf("number %d has %d values for 64 items", i, len(of))
		}
	}
}

// An item's numbers come of its whole SHA-256: whichever byte differs, no eight numbers that one block of the cipher makes are those of
// another item, at any place.
func TestEachByteOfAHashCounts(t *testing.T) {
	t.Parallel()
	blocks := map[[2]uint64]int{}
	for n := range sha256.Size + 1 {
		var h Hash
		if n < len(h) {
			h[n] = 1
		}
		var s Sum
		s.AddHash(h)
		for i := 0; i < len(s); i += 2 {
			block := [2]uint64{s[i], s[i+1]}
			if of, is := blocks[block]; is {
				t.Fatalf("items %d and %d have the same numbers", of, n)
			}
			blocks[block] = n
		}
	}
}

// BenchmarkSum is what an item costs, alone and in a batch, and what the hash of a sum does; beside them, what SHAKE128 and ChaCha8 would
// take for the numbers.
func BenchmarkSum(b *testing.B) {
	var s Sum
	h := Hash{1}
	b.Run("item", func(b *testing.B) {
		for b.Loop() {
			s.AddHash(h)
			h[0]++
		}
	})
	b.Run("batch", func(b *testing.B) {
		items := make([]Hash, 64)
		for n := 0; b.Loop(); n++ { // an item a turn
			if n%len(items) == 0 {
				s.addAll(items)
				items[0][0]++
			}
		}
	})
	b.Run("hash", func(b *testing.B) {
		for b.Loop() {
			s.Hash()
		}
	})
	b.Run("chacha", func(b *testing.B) {
		var x rand.ChaCha8
		var room [sumBytes]byte
		for b.Loop() {
			x.Seed(h)
			_, _ = x.Read(room[:]) // it never fails
			h[0]++
		}
	})
	b.Run("shake", func(b *testing.B) {
		var room [sumBytes]byte
		for b.Loop() {
			x := sha3.NewSHAKE128()
			x.Write(h[:])
			_, _ = x.Read(room[:]) // it never fails
			h[0]++
		}
	})
}
