package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// content is what of a file is in memory while the store is used, found by reading all of it.
type content struct {
	state   state
	begun   bool // there is a genesis
	genesis txlog.Genesis
	view    store.View
	values  map[string][]byte
	heads   []txlog.Head // by index
	slots   []txlog.Hash // the checksum of each slot: the file may have an older one with a checksum that is right
	loose   []looseBytes // snapshots that are not whole

	seen  [buckets]sum
	last  txlog.Position // of the last record that was visited
	found map[uint64]int // pieces of each snapshot
}

// looseBytes are pieces of a snapshot that is none.
type looseBytes struct {
	index  uint64
	pieces int
}

// read reads and checks all of a file: each page, each value, the chain of the records, and that nothing is missing, older than
// the newest transaction, or there without having been written.
func read(file io.ReaderAt, size int64) (*content, error) {
	c := &content{values: map[string][]byte{}, found: map[uint64]int{}}
	if err := walk(file, size, c.visit); err != nil {
		return nil, err
	}
	return c, c.complete()
}

func (c *content) visit(transaction uint64, bucket int, key, framed []byte) error {
	if bucket == stateBucket {
		return c.begin(transaction, key, framed)
	}
	body, err := unframe(c.state.ID, bucket, key, framed)
	if err != nil {
		return err
	}
	c.seen[bucket].add(framed[:sha256.Size])
	switch bucket {
	case genesisBucket:
		c.begun = true
		c.genesis, err = txlog.DecodeGenesis(body)
	case headBucket:
		var h txlog.Head
		h, err = txlog.DecodeHead(body)
		c.heads = append(c.heads, h)
	case keptBucket:
		var k store.Kept
		k, err = decodeKept(body)
		c.view.Kept = append(c.view.Kept, k)
	case pieceBucket:
		if len(key) != len(pieceKey(0, 0)) {
			return damage("a piece of a snapshot has no number")
		}
		c.found[binary.BigEndian.Uint64(key)]++
	case recordBucket:
		err = c.record(key, body)
	case slotBucket:
		if !bytes.Equal(key, number(c.state.FirstSlot+uint64(len(c.slots)))) {
			return damage("slot %d is missing", c.state.FirstSlot+uint64(len(c.slots)))
		}
		c.slots = append(c.slots, txlog.Hash(framed[:sha256.Size]))
	case valueBucket:
		c.values[string(key)] = append([]byte{}, body...)
	}
	return err
}

// begin reads the state, which comes first.
func (c *content) begin(transaction uint64, key, framed []byte) error {
	if c.state.Format != 0 || !bytes.Equal(key, only) || len(framed) < sha256.Size {
		return damage("its state cannot be read")
	}
	body, err := unframe(idOf(framed[sha256.Size:]), stateBucket, key, framed) // first: what was flipped is no newer version
	if err != nil {
		return err
	}
	s, err := decodeState(body)
	if err != nil {
		return err
	}
	if s.Format == 0 || s.Transaction != transaction {
		return damage("its state is of transaction %d, and the newest is %d", s.Transaction, transaction)
	}
	c.state, c.last = s, s.Floor
	c.view = store.View{ID: s.ID, Floor: s.Floor, Last: s.Last, FirstSlot: s.FirstSlot, NextSlot: s.NextSlot}
	return nil
}

// record checks that a record follows the one before.
func (c *content) record(key, body []byte) error {
	r, err := txlog.Open(body)
	if err != nil {
		return err
	}
	if !bytes.Equal(key, number(r.Index)) || r.Log != c.last.Log || r.Index != c.last.Index+1 || r.Prev != c.last.Hash {
		return damage("record %d does not follow record %d", r.Index, c.last.Index)
	}
	c.last = r.Position()
	return nil
}

// complete checks that everything is there that the newest transaction has left, and nothing else.
func (c *content) complete() error {
	for i, seen := range c.seen {
		if i != stateBucket && seen != c.state.Sums[i] {
			return damage("%s has %d values and should have %d, or other versions of them", names[i], seen.N, c.state.Sums[i].N)
		}
	}
	if c.state.Format == 0 || c.last != c.state.Last || uint64(len(c.slots)) != c.state.NextSlot-c.state.FirstSlot {
		return damage("its records end at %d, and they should at %d", c.last.Index, c.state.Last.Index)
	}
	for _, k := range c.view.Kept {
		if c.found[k.At.Index] != pieces(k.Size) {
			return damage("the snapshot at %d lacks pieces", k.At.Index)
		}
		delete(c.found, k.At.Index)
	}
	for index, n := range c.found {
		c.loose = append(c.loose, looseBytes{index: index, pieces: n})
	}
	return nil
}
