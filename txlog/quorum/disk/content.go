package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"

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
	in   home // if it is in a slot
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
		return c.takeState(transaction, key, framed)
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

// takeState takes the state, which comes first.
func (c *content) takeState(transaction uint64, key, framed []byte) error {
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
	if s.FirstSlot > s.NextSlot || s.NextSlot-s.FirstSlot > s.Sums[slotBucket].N {
		return damage("its slots cannot be from %d to before %d", s.FirstSlot, s.NextSlot)
	}
	c.state, c.slots.low, c.slots.next = s, s.LowSlot, s.LowSlot
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

// slot takes a slot. The last ones are the authority's.
func (c *content) slot(key, framed []byte) error {
	s, err := unframeSlot(c.state.ID, key, framed)
	if err != nil {
		return err
	}
	n := c.slots.next
	if !bytes.Equal(key, number(n)) {
		return damage("slot %d of the file is missing", n)
	}
	c.seen[slotBucket].add(framed[:sha256.Size])
	if r := s.Record; r.Raw() != nil {
		in := home{record: r.Index, number: n, sum: txlog.Hash(framed[:sha256.Size])}
		c.more = append(c.more, link{prev: r.Prev, at: r.Position(), in: in})
	}
	if n-c.state.LowSlot < c.state.Sums[slotBucket].N-(c.state.NextSlot-c.state.FirstSlot) {
		c.slots.next++
	} else {
		c.slots.push(framed, s)
	}
	return nil
}

// chain checks that the records follow each other, from the floor to the last one. One that has no place of its own is in a slot.
// It looks from the last one backwards: what comes before a record its hash says, and slots of the past have others of its index.
func (c *content) chain() error {
	hash := c.state.Last.Hash
	for index := c.state.Last.Index; index > c.state.Floor.Index; index-- {
		next, is := c.link(index, hash)
		if !is {
			return damage("record %d is missing", index)
		}
		if next.at.Hash != hash || index == c.state.Last.Index && next.at != c.state.Last {
			return damage("record %d is another one", index)
		}
		hash = next.prev
	}
	if hash != c.state.Floor.Hash || len(c.links) > 0 {
		return damage("its records do not follow record %d", c.state.Floor.Index)
	}
	slices.Reverse(c.slots.homes)
	c.more = nil
	return nil
}

// link finds a record by its index, or in a slot by its hash. Those that are asked for later come before it.
func (c *content) link(index uint64, hash txlog.Hash) (l link, is bool) {
	if n := len(c.links); n > 0 && c.links[n-1].at.Index == index {
		l, c.links = c.links[n-1], c.links[:n-1]
		return l, true
	}
	for n, one := range slices.Backward(c.more) {
		if one.at.Hash == hash && one.at.Index == index {
			c.more = c.more[:n]
			c.slots.homes = append(c.slots.homes, one.in)
			return one, true
		}
	}
	return link{}, false
}

// complete checks that everything is there that the newest transaction has left, and nothing else.
func (c *content) complete() error {
	for i, seen := range c.seen {
		if i != stateBucket && seen != c.state.Sums[i] {
			return damage("%s has %d values and should have %d, or other versions of them", names[i], seen.N, c.state.Sums[i].N)
		}
	}
	if c.state.Format == 0 {
		return damage("its state is missing")
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
