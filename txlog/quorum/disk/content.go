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
	slots   places
	loose   []looseBytes // snapshots that are not whole

	seen  [buckets]sum
	links []link         // the records in their bucket
	more  []link         // and those in slots
	found map[uint64]int // pieces of each snapshot
}

// link is a record of a chain.
type link struct {
	prev txlog.Hash
	at   txlog.Position
	slot int // where it is
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
	if bucket == slotBucket {
		return c.slot(key, framed)
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
	c.state, c.slots.low = s, s.LowSlot
	c.view = store.View{ID: s.ID, Floor: s.Floor, Last: s.Last, FirstSlot: s.FirstSlot, NextSlot: s.NextSlot}
	return nil
}

// record takes a record of the bucket of records.
func (c *content) record(key, body []byte) error {
	r, err := txlog.Own(body)
	if err != nil {
		return err
	}
	if !bytes.Equal(key, number(r.Index)) {
		return damage("record %d is another one", r.Index)
	}
	c.links = append(c.links, link{prev: r.Prev, at: r.Position()})
	return nil
}

// slot takes a slot.
func (c *content) slot(key, framed []byte) error {
	s, err := unframeSlot(c.state.ID, key, framed)
	if err != nil {
		return err
	}
	if want := c.slots.low + uint64(len(c.slots.all)); s.Index != want {
		return damage("slot %d is missing", want)
	}
	c.seen[slotBucket].add(framed[:sha256.Size])
	if s.Record.Raw() != nil {
		c.more = append(c.more, link{prev: s.Record.Prev, at: s.Record.Position(), slot: len(c.slots.all)})
	}
	c.slots.push(framed, s)
	return nil
}

// chain checks that the records follow each other, from the floor to the last one. One that has no place of its own is in a slot.
func (c *content) chain() error {
	at, more := c.state.Floor, c.more
	for at.Index < c.state.Last.Index {
		var next link
		for len(more) > 0 && more[0].at.Index <= at.Index {
			more = more[1:]
		}
		switch {
		case len(c.links) > 0 && c.links[0].at.Index == at.Index+1:
			next, c.links = c.links[0], c.links[1:]
		case len(more) > 0 && more[0].at.Index == at.Index+1:
			next = more[0]
			c.slots.all[next.slot].holds = true
		default:
			return damage("record %d is missing", at.Index+1)
		}
		if next.at.Log != at.Log || next.prev != at.Hash {
			return damage("record %d does not follow record %d", next.at.Index, at.Index)
		}
		at = next.at
	}
	if at != c.state.Last || len(c.links) > 0 {
		return damage("its records end at %d, and they should at %d", at.Index, c.state.Last.Index)
	}
	c.more = nil
	return nil
}

// complete checks that everything is there that the newest transaction has left, and nothing else.
func (c *content) complete() error {
	for i, seen := range c.seen {
		if i != stateBucket && seen != c.state.Sums[i] {
			return damage("%s has %d values and should have %d, or other versions of them", names[i], seen.N, c.state.Sums[i].N)
		}
	}
	if s := c.state; s.Format == 0 || s.LowSlot > s.FirstSlot || uint64(len(c.slots.all)) != s.NextSlot-s.LowSlot {
		return damage("it has %d slots from %d on, and they should end before %d", len(c.slots.all), s.LowSlot, s.NextSlot)
	}
	if err := c.chain(); err != nil {
		return err
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
