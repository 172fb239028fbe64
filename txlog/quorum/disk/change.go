package disk

import (
	"crypto/sha256"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/txlog/store"
)

// filled is how full pages are that are filled in order.
const filled = 0.95

// change is a transaction that is being made. After an error it does nothing.
type change struct {
	tx    *bolt.Tx
	state state
	slots places
	open  [buckets]*bolt.Bucket
	room  []byte // for values, which the library copies when it commits
	err   error
}

func newChange(tx *bolt.Tx, s *Store) *change {
	c := &change{tx: tx, state: s.state, slots: s.slots, room: s.room[:0]}
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
	c.drop(next)
	c.state.Transaction = uint64(c.tx.ID())
	c.state.Floor, c.state.Last = next.Floor, next.Last
	c.state.LowSlot, c.state.FirstSlot, c.state.NextSlot = c.slots.low, next.FirstSlot, next.NextSlot
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
		c.slots.all = nil // drop takes them out of the file
	}
	c.replace(step.Slots)
	c.log(step.Records)
	for _, h := range step.Heads {
		c.put(headBucket, number(h.Index), h.Encode())
	}
}

// put stores a value in place of the one that is there.
func (c *change) put(bucket int, key, body []byte) {
	if c.err == nil && bucket != stateBucket {
		c.unsum(bucket, key)
	}
	c.add(bucket, key, body)
}

// add stores a value where none is. If one is there after all, the sum of the bucket is wrong, and the next Open says so.
func (c *change) add(bucket int, key, body []byte) {
	if c.err != nil {
		return
	}
	c.set(bucket, key, frame(c.state.ID, bucket, key, body))
}

// set stores what frame has made.
func (c *change) set(bucket int, key, framed []byte) {
	if bucket != stateBucket {
		c.state.Sums[bucket].add(framed[:sha256.Size])
	}
	c.fail(c.open[bucket].Put(key, framed))
}

// remove drops a value, if it is there.
func (c *change) remove(bucket int, key []byte) {
	if c.err == nil {
		c.unsum(bucket, key)
		c.fail(c.open[bucket].Delete(key))
	}
}

// unsum takes a value that is there out of the sum of its bucket.
func (c *change) unsum(bucket int, key []byte) {
	old := c.open[bucket].Get(key)
	switch {
	case old == nil:
	case len(old) < sha256.Size:
		c.fail(damage("a value in %s is cut off", names[bucket]))
	default:
		c.state.Sums[bucket].remove(old[:sha256.Size])
	}
}

// empty drops all values of a bucket.
func (c *change) empty(bucket int) {
	if c.err != nil {
		return
	}
	c.fail(c.tx.DeleteBucket(names[bucket]))
	made, err := c.tx.CreateBucket(names[bucket])
	c.fail(err)
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

func (c *change) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}
