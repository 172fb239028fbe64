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
// An item's numbers are the key stream of AES-256, in counter mode, under the item's SHA-256. They are as random as an ideal
// cipher under a random key; each key is used for one message, and nobody can choose how two of them are related. SHAKE128 would
// do, at four to seven times the price (BenchmarkSum).
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
	room := numbersOf(h)
	for i := range s {
		s[i] = plus(s[i], binary.LittleEndian.Uint64(room[8*i:]))
	}
	rooms.Put(room)
}

// RemoveHash takes out an item by its SHA-256.
func (s *Sum) RemoveHash(h Hash) {
	room := numbersOf(h)
	for i := range s {
		s[i] = minus(s[i], binary.LittleEndian.Uint64(room[8*i:]))
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

func (s *Sum) addAll(items []Hash) {
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

var (
	rooms = sync.Pool{New: func() any { return new([sumBytes]byte) }}
	zeros [sumBytes]byte
)

// numbersOf returns the numbers of an item, in a room that goes back to rooms.
func numbersOf(h Hash) *[sumBytes]byte {
	room, _ := rooms.Get().(*[sumBytes]byte)
	block, err := aes.NewCipher(h[:])
	if err != nil {
		panic(err) //nolint:forbidigo // a key of 32 bytes is one, and a sum without an item would be wrong
	}
	cipher.NewCTR(block, zeros[:aes.BlockSize]).XORKeyStream(room[:], zeros[:]) //nolint:gosec // each key is used for one stream
	return room
}

// tops has the highest bit of each of the four numbers of a word.
const tops = 0x8000_8000_8000_8000

// plus adds four numbers to four others: no carry leaves a number.
func plus(a, b uint64) uint64 { return (a&^tops + b&^tops) ^ (a^b)&tops }

// minus is the opposite of plus.
func minus(a, b uint64) uint64 { return ((a | tops) - b&^tops) ^ (a^^b)&tops }
