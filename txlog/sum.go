package txlog

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"runtime"
	"sync"
)

// Sum is the hash of a set of items, kept while items come and go. Equal sets have equal sums, and nobody finds two sets with one
// sum, also if all the items are of one's own choice: a head commits to a state whose keys its users choose, and anybody that may
// join a log may serve its state to others.
//
// It is a lattice hash (Bellare and Micciancio 1997; LtHash of 16 bits and 1,024 numbers, of which Lewi and others 2019 show some 200
// bits of security): each item becomes 1,024 random numbers, and the sum of all is taken number by number, modulo 2^16. A sum of
// SHA-256 is no such hash: by a generalised birthday (Wagner 2002) another set with the same sum is found in minutes.
//
// An item's numbers are a key stream of AES-192 in counter mode: 24 bytes of the item's SHA-256 are the key, the other 8 the first half
// of the counter, whose second half counts 128 blocks from 0. So the whole SHA-256 says which stream it is, and two items that differ
// in it share no block of one key. In the model of an ideal cipher the numbers are therefore a random function of the SHA-256, but
// that the 128 blocks of an item all differ: by chance two would be equal in one of 2^115 items. Keys are what SHA-256 makes of items,
// so nobody chooses how two are related. What is left is two items with one SHA-256 (2^128), and what LtHash has.
//
// AES-256 with a counter from 0 says no more, and takes longer; AES-128 has room for 249 bits if no block is shared. ChaCha8 takes twice
// as long, SHAKE128 five times (BenchmarkSum). One key for all items would cost least, but then a counter of 16 bytes is all that
// tells them apart: 2^60 hashes find two with the same one.
//
// The zero value is the sum of the empty set.
type Sum [sumBytes / 8]uint64 // four numbers each

const sumBytes = 1024 * 2

// Add adds an item.
func (s *Sum) Add(item []byte) { s.AddHash(sha256.Sum256(item)) }

// Remove takes out an item that was added.
func (s *Sum) Remove(item []byte) { s.RemoveHash(sha256.Sum256(item)) }

// AddHash adds an item by its SHA-256.
func (s *Sum) AddHash(h Hash) {
	room, _ := rooms.Get().(*[4]numbers)
	room[0].of(h)
	for i := range s {
		s[i] = plus(s[i], room[0].word(i))
	}
	rooms.Put(room)
}

// RemoveHash takes out an item by its SHA-256.
func (s *Sum) RemoveHash(h Hash) {
	room, _ := rooms.Get().(*[4]numbers)
	room[0].of(h)
	for i := range s {
		s[i] = minus(s[i], room[0].word(i))
	}
	rooms.Put(room)
}

// AddHashes adds items by their SHA-256, as they come. All processors share the work, beside what finds the items.
func (s *Sum) AddHashes(items iter.Seq[Hash]) {
	const most = 64 // for which no other goroutine is worth its while
	var (
		batch   = make([]Hash, 0, most)
		batches = make(chan []Hash, 4*runtime.GOMAXPROCS(0))
		sums    []Sum // each is one worker's
		workers sync.WaitGroup
	)
	for h := range items {
		if len(batch) == most {
			if sums == nil {
				sums = make([]Sum, runtime.GOMAXPROCS(0))
				for w := range sums {
					workers.Go(func() {
						for batch := range batches {
							sums[w].addAll(batch)
						}
					})
				}
			}
			batches <- batch
			batch = make([]Hash, 0, most)
		}
		batch = append(batch, h)
	}
	close(batches)
	s.addAll(batch)
	workers.Wait()
	for w := range sums {
		for i := range s {
			s[i] = plus(s[i], sums[w][i])
		}
	}
}

// addAll adds a batch, four at a time. It sums words up as if they were numbers, and beside that the two numbers of each that have room
// for a carry above them: 65,536 of them have. The difference is what the other two are.
func (s *Sum) addAll(items []Hash) {
	const low = 0x0000_ffff_0000_ffff
	var words, lows Sum
	room, _ := rooms.Get().(*[4]numbers)
	for ; len(items) >= 4; items = items[4:] {
		for n := range room {
			room[n].of(items[n])
		}
		for i := range words {
			w, x, y, z := room[0].word(i), room[1].word(i), room[2].word(i), room[3].word(i)
			words[i] += w + x + y + z
			lows[i] += w&low + x&low + y&low + z&low
		}
	}
	rooms.Put(room)
	for i := range s {
		s[i] = plus(s[i], lows[i]&low|(words[i]-lows[i])&^low)
	}
	for _, h := range items {
		s.AddHash(h)
	}
}

// Hash returns the SHA-256 of the sum.
func (s *Sum) Hash() Hash {
	var room [sumBytes]byte
	for i, word := range s {
		binary.LittleEndian.PutUint64(room[8*i:], word)
	}
	return sha256.Sum256(room[:])
}

// numbers are those of an item.
type numbers [sumBytes]byte

var (
	rooms = sync.Pool{New: func() any { return new([4]numbers) }} // as many as are summed up at once
	zeros numbers
)

func (x *numbers) word(i int) uint64 { return binary.LittleEndian.Uint64(x[8*i:]) }

// of makes them those of an item by its SHA-256.
func (x *numbers) of(h Hash) {
	const key = 24
	block, err := aes.NewCipher(h[:key])
	if err != nil {
		panic(err) //nolint:forbidigo // a key of 24 bytes is one, and a sum without an item would be wrong
	}
	counter := x[:aes.BlockSize] // it is copied
	clear(counter[copy(counter, h[key:]):])
	cipher.NewCTR(block, counter).XORKeyStream(x[:], zeros[:])
}

// tops has the highest bit of each of the four numbers of a word.
const tops = 0x8000_8000_8000_8000

// plus adds four numbers to four others: no carry leaves a number.
func plus(a, b uint64) uint64 { return (a&^tops + b&^tops) ^ (a^b)&tops }

// minus is the opposite of plus.
func minus(a, b uint64) uint64 { return ((a | tops) - b&^tops) ^ (a^^b)&tops }
