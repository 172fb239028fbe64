package disk

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// A slot's value is its checksum, the length of its body, the body, and the bytes of its record. When that record is added to
// the log, nothing is written: it is read here. So a slot that is dropped stays in the file while the log has its record.
//
// In the file a slot has a number: one more than the slot before it, also where the authority has dropped all of its slots and
// begins again with any index. So nothing is moved then, however many records of the log are in the old ones.

// places is what is in memory of the slots in the file. Readers have older slices of the same arrays: nothing in them is changed.
type places struct {
	low, next uint64  // the number of the first slot in the file, and the one after the last
	all       []place // the authority's: they are the last ones
	homes     []home  // the log's records that are in slots and not in the bucket of records, in order; so are their slots
}

// place is one of the authority's slots.
type place struct {
	sum    txlog.Hash // the checksum of its value: the file may have an older one whose checksum is right
	record uint64     // the index of the newest record in the slots up to here
	hash   txlog.Hash // of its own record; zero: it has none
}

// home is the slot in which a record is.
type home struct {
	record, number uint64
	sum            txlog.Hash
}

func (s *places) push(framed []byte, of store.Slot) {
	p := place{sum: txlog.Hash(framed[:sha256.Size]), record: s.newest(len(s.all)), hash: of.Record.Hash()}
	if of.Record.Raw() != nil {
		p.record = of.Record.Index
	}
	s.all = append(s.all, p)
	s.next++
}

// at returns the number of the i-th of the authority's slots.
func (s *places) at(i int) uint64 { return s.next - uint64(len(s.all)) + uint64(i) }

// newest returns the index of the newest record in the first slots; 0: there is none.
func (s *places) newest(many int) uint64 {
	if many == 0 {
		return 0
	}
	return s.all[many-1].record
}

// find returns where a record would be among the authority's slots.
func (s *places) find(record uint64) (i int, is bool) {
	return slices.BinarySearchFunc(s.all, record, func(p place, record uint64) int { return cmp.Compare(p.record, record) })
}

// home returns the slot in which a record of the log is.
func (s *places) home(record uint64) (h home, is bool) {
	i, is := slices.BinarySearchFunc(s.homes, record, func(h home, record uint64) int { return cmp.Compare(h.record, record) })
	if !is {
		return home{}, false
	}
	return s.homes[i], true
}

// before returns how many of the slots are before an index, where the next one is. Those after it are to be replaced.
func (s *places) before(index, next uint64) int {
	if len(s.all) == 0 {
		return 0 // nothing says which one was the last
	}
	return len(s.all) - int(next-index)
}

// slotSum is the checksum of a slot's value. The record is bound by its hash, which is known; zero: there is none.
func slotSum(id uint64, key, body []byte, record txlog.Hash) [sha256.Size]byte {
	var room [1 << 10]byte
	bound := append(binary.AppendUvarint(room[:0], uint64(len(body))), body...)
	if !record.IsZero() {
		bound = append(bound, record[:]...)
	}
	return checksum(id, slotBucket, key, bound)
}

func appendSlot(out []byte, id uint64, key []byte, s store.Slot) []byte {
	c := slotSum(id, key, s.Body, s.Record.Hash())
	out = binary.AppendUvarint(append(out, c[:]...), uint64(len(s.Body)))
	return append(append(out, s.Body...), s.Record.Raw()...)
}

// unframeSlot returns a slot, whose bytes are parts of framed. The error is damage, or txlog.ErrVersion if a newer program has
// written it. What was flipped is damage, whatever it seems to be: its bytes are not those that were summed.
func unframeSlot(id uint64, key, framed []byte) (s store.Slot, err error) {
	if len(framed) < sha256.Size || len(key) != 8 {
		return s, damage("a slot is cut off")
	}
	rest := framed[sha256.Size:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return s, damage("a slot is cut off")
	}
	s.Index, s.Body = binary.BigEndian.Uint64(key), rest[n:n+int(size)]
	var hash txlog.Hash
	if raw := rest[n+int(size):]; len(raw) > 0 {
		if s.Record, err = txlog.Own(raw); err != nil {
			hash = txlog.HashRecord(raw)
		} else {
			hash = s.Record.Hash()
		}
	}
	switch c := slotSum(id, key, s.Body, hash); {
	case !bytes.Equal(c[:], framed[:sha256.Size]):
		return s, damage("slot %d is not what was written", s.Index)
	case errors.Is(err, txlog.ErrVersion):
		return s, fmt.Errorf("slot %d: %w", s.Index, err)
	case err != nil:
		return s, damage("slot %d has no record: %s", s.Index, err)
	}
	return s, nil
}

// replace stores slots, and drops those that were at the first one's index and after it.
func (c *change) replace(with []store.Slot) {
	if len(with) == 0 || c.err != nil {
		return
	}
	s := &c.slots
	if s.low == s.next {
		s.low, s.next = with[0].Index, with[0].Index
	}
	if kept := s.before(with[0].Index, c.state.NextSlot); kept < len(s.all) {
		from := s.at(kept)
		c.vacate(from)
		for n := from; n < s.next; n++ {
			c.remove(slotBucket, number(n))
		}
		s.all, s.next = slices.Clone(s.all[:kept]), from
	}
	for _, slot := range with {
		if c.err != nil {
			return
		}
		key, at := number(s.next), len(c.room)
		c.room = appendSlot(c.room, c.state.ID, key, slot)
		framed := c.room[at:len(c.room):len(c.room)]
		c.set(slotBucket, key, framed)
		s.push(framed, slot)
	}
}

// vacate gives the log's records in the slots from a number on a place of their own. They are few: what is replaced has not been
// committed as far as the authority knows, and a leader limits what is in flight.
func (c *change) vacate(from uint64) {
	homes := c.slots.homes
	rest, _ := slices.BinarySearchFunc(homes, from, func(h home, from uint64) int { return cmp.Compare(h.number, from) })
	for _, h := range homes[rest:] {
		if h.record <= c.state.Floor.Index || c.err != nil {
			continue
		}
		key := number(h.number)
		framed := c.open[slotBucket].Get(key)
		s, err := unframeSlot(c.state.ID, key, framed)
		if err == nil && txlog.Hash(framed[:sha256.Size]) != h.sum {
			err = damage("slot %d is an older one", h.number)
		}
		c.fail(err)
		c.add(recordBucket, number(h.record), s.Record.Raw())
	}
	c.slots.homes = slices.Clone(homes[:rest])
}

// log adds records to the log. One that is in a slot is there already.
func (c *change) log(records []txlog.Record) {
	s := &c.slots
	for _, r := range records {
		if i, is := s.find(r.Index); is && s.all[i].hash == r.Hash() {
			s.homes = append(s.homes, home{record: r.Index, number: s.at(i), sum: s.all[i].sum})
		} else {
			c.add(recordBucket, number(r.Index), r.Raw())
		}
	}
}

// drop drops slots that neither the authority nor the log needs any more, a bounded number.
func (c *change) drop(next store.View) {
	s := &c.slots
	s.all = s.all[len(s.all)-int(next.NextSlot-next.FirstSlot):]
	for len(s.homes) > 0 && s.homes[0].record <= next.Floor.Index {
		s.homes = s.homes[1:]
	}
	first := s.at(0) // of the authority's
	if len(s.homes) > 0 {
		first = min(first, s.homes[0].number)
	}
	for n := 0; n < mostDropped && s.low < first && c.err == nil; n++ {
		c.remove(slotBucket, number(s.low))
		s.low++
	}
}
