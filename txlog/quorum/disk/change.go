package disk

import (
	"crypto/sha256"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// filled is how full pages are that are filled in order.
const filled = 0.95

// change is a transaction that is being made. After an error it does nothing.
type change struct {
	tx    *bolt.Tx
	state state
	slots []txlog.Hash // the first one is that of state.FirstSlot
	open  [buckets]*bolt.Bucket
	err   error
}

func begin(tx *bolt.Tx, s *Store) *change {
	c := &change{tx: tx, state: s.state, slots: s.slots}
	for i := range c.open {
		c.open[i] = tx.Bucket(names[i])
		if c.open[i] == nil {
			c.err = damage("a bucket is missing")
			return c
		}
		if i != valueBucket {
			c.open[i].FillPercent = filled
		}
	}
	return c
}

// finish writes the state, with which a transaction is whole.
func (c *change) finish(next store.View) {
	c.state.Transaction = uint64(c.tx.ID())
	c.state.Floor, c.state.Last = next.Floor, next.Last
	c.state.FirstSlot, c.state.NextSlot = next.FirstSlot, next.NextSlot
	c.put(stateBucket, only, c.state.encode())
}

// step stores what is in a step.
func (c *change) step(step store.Step) {
	for name, value := range step.Values {
		if value == nil {
			c.remove(valueBucket, []byte(name))
		} else {
			c.put(valueBucket, []byte(name), value)
		}
	}
	if step.Empty {
		c.empty(slotBucket)
		c.slots = nil
	}
	c.replace(step.Slots)
	c.drop(step.Below)
	for _, r := range step.Records {
		c.add(recordBucket, number(r.Index), r.Raw())
	}
	for _, h := range step.Heads {
		c.put(headBucket, number(h.Index), h.Encode())
	}
}

// replace stores slots, and drops those that were at the first one's index and after it.
func (c *change) replace(slots []store.Slot) {
	if len(slots) == 0 || c.err != nil {
		return
	}
	if len(c.slots) == 0 {
		c.state.FirstSlot = slots[0].Index
	}
	first := c.state.FirstSlot
	end := first + uint64(len(c.slots))
	for index := slots[len(slots)-1].Index + 1; index < end; index++ {
		c.remove(slotBucket, number(index))
	}
	c.slots = c.slots[:slots[0].Index-first]
	for _, s := range slots {
		put := c.add
		if s.Index < end {
			put = c.put
		}
		c.slots = append(c.slots, put(slotBucket, number(s.Index), s.Body))
	}
}

// drop drops the slots below an index.
func (c *change) drop(below uint64) {
	for len(c.slots) > 0 && c.state.FirstSlot < below && c.err == nil {
		c.remove(slotBucket, number(c.state.FirstSlot))
		c.state.FirstSlot++
		c.slots = c.slots[1:]
	}
}

// put stores a value in place of the one that is there, and returns its checksum.
func (c *change) put(bucket int, key, body []byte) (sum txlog.Hash) {
	if c.err == nil && bucket != stateBucket {
		c.forget(bucket, key)
	}
	return c.add(bucket, key, body)
}

// add stores a value where none is. If one is there after all, the sum of the bucket is wrong, and the next Open says so.
func (c *change) add(bucket int, key, body []byte) (sum txlog.Hash) {
	if c.err != nil {
		return sum
	}
	framed := frame(c.state.ID, bucket, key, body)
	if bucket != stateBucket {
		c.state.Sums[bucket].add(framed[:sha256.Size])
	}
	c.keep(c.open[bucket].Put(key, framed))
	return txlog.Hash(framed[:sha256.Size])
}

// remove drops a value, if it is there.
func (c *change) remove(bucket int, key []byte) {
	if c.err == nil {
		c.forget(bucket, key)
		c.keep(c.open[bucket].Delete(key))
	}
}

// forget takes a value that is there out of the sum of its bucket.
func (c *change) forget(bucket int, key []byte) {
	old := c.open[bucket].Get(key)
	switch {
	case old == nil:
	case len(old) < sha256.Size:
		c.keep(damage("a value in %s is cut off", names[bucket]))
	default:
		c.state.Sums[bucket].remove(old[:sha256.Size])
	}
}

// empty drops all values of a bucket.
func (c *change) empty(bucket int) {
	if c.err != nil {
		return
	}
	c.keep(c.tx.DeleteBucket(names[bucket]))
	made, err := c.tx.CreateBucket(names[bucket])
	c.keep(err)
	c.open[bucket], c.state.Sums[bucket] = made, sum{}
}

// removeBelow drops values whose key begins with a number below an index, up to so many. It returns whether there are more.
func (c *change) removeBelow(bucket int, index uint64, most int) (more bool) {
	if c.err != nil {
		return false
	}
	var keys [][]byte
	cursor := c.open[bucket].Cursor()
	for key, _ := cursor.First(); len(key) >= 8 && binary.BigEndian.Uint64(key) < index; key, _ = cursor.Next() {
		if len(keys) == most {
			more = true
			break
		}
		keys = append(keys, append([]byte(nil), key...))
	}
	for _, key := range keys {
		c.remove(bucket, key)
	}
	return more
}

func (c *change) keep(err error) {
	if c.err == nil {
		c.err = err
	}
}
