package pending

import (
	"cmp"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// While a chain finds nothing final, an account can have a million transactions in blocks. Each step visits every
// slot of the line, so the oldest leave it. What remains of them in memory is the block of a range of nonces. They
// come back, some at a time, once there is something to do:
//
//   - A block of theirs has left the chain, or the chain does not count their nonces as used: to be sent again.
//   - A final block is not below theirs: to be linked and confirmed like any other.
//   - They have waited for so long that they are stored as [FinalityTimeout]. Then they leave again.
//
// A slot leaves in the state in which a takeover would restore it: in its own attempt's block, as stored, and with
// nothing in doubt. So wherever the machine visits its slots, one that has left is a slot to which nothing is done.

// held limits what a machine has in memory.
type held struct {
	Most   int    // the slots of the line, above which the oldest leave
	Guests int    // slots that have come back and have not left again
	Page   int    // nonces that come back at once, at least 1
	Depth  uint64 // for how many blocks a slot has to be in a block before it leaves: most reorganisations are short
}

var usual = held{Most: 10_000, Guests: 4000, Page: 1000, Depth: 4}

// run stands for slots that have left the line.
type run struct {
	Run
	streamed bool          // as in slot
	inSince  fence.Instant // as in slot, of the first nonce
	reverted bool          // its block has left the chain, or one of its nonces is used in another one
	unused   bool          // since it was loaded, the chain has not counted its last nonce as used
}

// away reports whether the slots may have to be sent again.
func (r *run) away() bool { return r.reverted || r.unused }

// takes adds the nonces of a run that follows, if nothing else is different.
func (r *run) takes(next *run) bool {
	same := r.Last+1 == next.First && r.Block.Hash == next.Block.Hash && r.Late == next.Late && r.streamed == next.streamed && r.away() == next.away()
	if same {
		r.Last = next.Last
	}
	return same
}

// deep holds runs by nonce.
type deep struct {
	order   []*run
	away    int   // how many of them are
	stirred bool  // some may be wanted back
	asked   *page // the page under way, if its answer is wanted; else nil
}

// restoredRuns returns the runs of an earlier term.
func (m *machine) restoredRuns(stored []Run, now fence.Instant) (d deep) {
	for _, one := range stored {
		d.order = append(d.order, &run{Run: one, inSince: m.storedSince(one.Age, one.Late, now)})
	}
	d.stir()
	return d
}

// stir notes that something has changed for the runs.
func (d *deep) stir() {
	d.stirred, d.away = len(d.order) > 0, 0
	for _, r := range d.order {
		if r.away() {
			d.away++
		}
	}
}

// from returns the runs from the one that has a nonce, or the next one.
func (d *deep) from(index uint64) []*run {
	at, _ := slices.BinarySearchFunc(d.order, index, func(r *run, index uint64) int { return cmp.Compare(r.Last, index) })
	return d.order[at:]
}

// get returns the run that has a nonce, or nil.
func (d *deep) get(index uint64) *run {
	if after := d.from(index); len(after) > 0 && after[0].First <= index {
		return after[0]
	}
	return nil
}

// add inserts runs, which are in order and whose nonces no run has.
func (d *deep) add(more []*run) {
	if len(more) == 0 {
		return
	}
	all := merge(d.order, more, func(a, b *run) bool { return a.First > b.First })
	d.order = all[:0]
	for _, r := range all {
		if n := len(d.order); n == 0 || !d.order[n-1].takes(r) {
			d.order = append(d.order, r)
		}
	}
	clear(all[len(d.order):])
	d.stir()
}

// cut removes nonces.
func (d *deep) cut(first, last uint64) {
	var rest []*run
	at, n := len(d.order)-len(d.from(first)), 0
	for _, r := range d.order[at:] {
		if r.First > last {
			break
		}
		n++
		if r.First < first {
			part := *r
			part.Last = first - 1
			rest = append(rest, &part)
		}
		if r.Last > last {
			part := *r
			part.First = last + 1
			rest = append(rest, &part)
		}
	}
	d.order = slices.Replace(d.order, at, at+n, rest...)
	d.stir()
}

// asking reports whether the slot of a nonce, which was in the line, would come with the page that is under way: as it
// was before it left.
func (d *deep) asking(index uint64) bool {
	return d.asked != nil && d.asked.From <= index && index <= d.asked.To
}

// inFlight counts the nonces that are to be sent again, from the account's next one on.
func (d *deep) inFlight(best uint64) (n int) {
	if d.away == 0 {
		return 0
	}
	for _, r := range d.from(best) {
		if r.away() {
			n += int(r.Last - max(r.First, best) + 1)
		}
	}
	return n
}

// revert notes that a block has left the chain, and returns the lowest nonce in it, or next if none is.
func (d *deep) revert(b chain.Block, next uint64) uint64 {
	lowest := next
	for _, r := range d.order {
		if r.Block.Hash == b.Hash {
			r.reverted, lowest = true, min(lowest, r.First)
		}
	}
	d.stir()
	return lowest
}

// uncounted notes that the chain does not count nonces from one on as used. The block of a run that was loaded may have left the
// chain before; those that were followed from block to block are told so.
func (d *deep) uncounted(best uint64) {
	for _, r := range d.from(best) {
		if !r.streamed && !r.away() {
			r.unused, d.stirred = true, true
			d.away++
		}
	}
}

// moved notes that the nonce of a run is used in a block that was applied.
func (d *deep) moved(index uint64, b chain.Block) {
	if r := d.get(index); r != nil && r.Block.Hash != b.Hash {
		r.reverted = true
		d.stir()
	}
}
