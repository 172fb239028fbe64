package pending

import (
	"cmp"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// paging decides which slots leave memory, and which come back.
//
// It takes the line and the runs as they are after each input, and paged. It asks for page.
//
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
type paging struct {
	*account

	signing *signing   // has the slots for which another attempt is being signed
	stayAt  chain.Hash // the head at which no slot could leave the line
}

// leaveLine takes the oldest slots out of a long line, and those that had come back and are done. It takes half of the
// line at once, since each time costs a visit to all. If none could leave, it tries again at the next head.
func (p *paging) leaveLine(now fence.Instant) {
	excess := 0
	if n := len(p.slots.inOrder()); n > p.set.Held.Most && p.stayAt != p.head.Hash {
		excess = n - p.set.Held.Most/2
	}
	if excess == 0 && p.census.guests == 0 {
		return
	}
	var gone []*run
	needed := p.neededSlots()
	p.slots.sweepSlots(func(s *slot) bool {
		if excess <= 0 && !s.guest || needed[s.Index] || p.deep.isAsking(s.Index) || !p.isSettled(s, now) {
			return false
		}
		excess--
		if s.guest {
			p.census.guests--
		}
		one := &run{Run: Run{First: s.Index, Last: s.Index, Block: s.in.Block, Late: s.saved.Status == FinalityTimeout}, streamed: s.streamed, inSince: s.inSince}
		if n := len(gone); n == 0 || !gone[n-1].joinsWith(one) {
			gone = append(gone, one)
		}
		return true
	})
	p.deep.addRuns(gone)
	if excess > 0 && len(gone) == 0 {
		p.stayAt = p.head.Hash
	}
}

// neededSlots returns the nonces whose slots an alarm is about, or a replace that is under way.
func (p *paging) neededSlots() map[uint64]bool {
	needed := map[uint64]bool{}
	for a, raised := range p.alarms {
		if raised && !a.Whole {
			needed[a.Index] = true
		}
	}
	if p.underway.isUnderway(toSign) {
		for _, one := range p.signing.replacing {
			needed[one.Index] = true
		}
	}
	return needed
}

// isSettled reports whether nothing is to be done for a slot in a block before the chain changes, and all is stored
// from which it can be restored.
func (p *paging) isSettled(s *slot, now fence.Instant) bool {
	return s.in != nil && s.in.Block.Number+p.set.Held.Depth <= p.head.Number &&
		(p.final.Hash == "" || s.in.Block.Number > p.final.Number) && s.first.Hash == "" && !s.inFinal &&
		!s.doubt && !s.contradicted && !s.refuted && !s.spent && s.waits == "" &&
		s.saving == nil && s.saved.Block.Hash == s.in.Block.Hash && s.saved == s.asChange(p.timedOut(s, now))
}

// call is why the slots of a run have to come back.
type call uint8

const (
	uncalled  call = iota
	late           // to be stored as FinalityTimeout
	ended          // to be linked and confirmed
	elsewhere      // to be looked up, since the chain counts their nonces as used
	resend         // to be sent again
	further        // to be sent again, once those before have been
)

func (p *paging) callOf(r *run, now fence.Instant) call {
	switch {
	case r.isAway() && r.Last < p.best:
		return elsewhere
	case r.isAway() && r.First < p.best+uint64(p.set.MaxInFlight):
		return resend
	case r.isAway():
		return further
	case p.final.Hash != "" && r.Block.Number <= p.final.Number:
		return ended
	case !r.Late && p.set.isOverdue(r.inSince, now):
		return late
	}
	return uncalled
}

// askPage asks for the slots of the runs that have to come back: first for those to be sent again, whose number only
// MaxInFlight limits, since all later ones wait for them.
func (p *paging) askPage(now fence.Instant) {
	if p.underway.isUnderway(toPage) || !p.deep.stirred {
		return
	}
	room := p.set.Held.Guests - p.census.guests
	if room < p.set.Held.Page && p.deep.away == 0 {
		return
	}
	at, why := 0, uncalled
	for i, r := range p.deep.order {
		if c := p.callOf(r, now); c > why && c != further {
			at, why = i, c
		}
		if why == resend {
			break
		}
	}
	if why == elsewhere {
		room += p.set.Held.Guests // others that wait for a witness do not stop them
	}
	if why != resend && room < p.set.Held.Page {
		return
	}
	if why == uncalled {
		p.deep.stirred = p.deep.away > 0
		return
	}
	do := page{From: p.deep.order[at].First}
	limit := do.From + uint64(p.set.Held.Page) - 1
	for _, r := range p.deep.order[at:] {
		if r.First > limit || p.callOf(r, now) != why {
			break
		}
		do.To = min(r.Last, limit)
	}
	p.deep.asked = &do
	p.giveOrder(do)
}

// askRest asks for slots of the first run, whatever they wait for: the life of all is over.
func (p *paging) askRest() {
	if p.underway.isUnderway(toPage) || len(p.deep.order) == 0 {
		return
	}
	r := p.deep.order[0]
	p.deep.asked = &page{From: r.First, To: min(r.Last, r.First+uint64(p.set.Held.Page)-1)}
	p.giveOrder(*p.deep.asked)
}

// takePaged takes slots back into the line. What has happened to their block since they were asked for, the run says.
func (p *paging) takePaged(now fence.Instant, in paged) {
	if p.deep.asked == nil {
		return // the rows were loaded anew meanwhile
	}
	p.deep.asked = nil
	var back []*slot
	for _, stored := range in.Slots {
		if r := p.deep.runOf(stored.Index); r != nil {
			back = append(back, p.comeBack(stored, r, now))
		}
	}
	p.deep.cutNonces(in.From, in.To)
	p.slots.mergeSlots(back)
}

// comeBack returns a slot of a run.
func (p *paging) comeBack(stored Slot, r *run, now fence.Instant) *slot {
	s := restoredSlot(stored, 0)
	switch {
	case r.reverted:
		p.retractSlot(s)
		s.doubt = s.Index < p.best
	case stored.Final || stored.Last.Block.Hash != r.Block.Hash: // somebody else has written it
		s.doubt = true
	case r.unused:
		s = restoredSlot(stored, p.best)
		s.inSince = p.storedIn(s, now)
	default:
		s.setPlace(stored.Last.asInclusion(), r.streamed)
		s.inSince = r.inSince
		if s.streamed && p.final.Hash != "" && s.in.Block.Number <= p.final.Number {
			s.first, s.firstBy = p.final, p.finalBy
		}
	}
	s.guest = true
	s.setDue(now)
	return s
}

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

// isAway reports whether the slots may have to be sent again.
func (r *run) isAway() bool { return r.reverted || r.unused }

// joinsWith adds the nonces of a run that follows, if nothing else is different.
func (r *run) joinsWith(next *run) bool {
	same := r.Last+1 == next.First && r.Block.Hash == next.Block.Hash && r.Late == next.Late && r.streamed == next.streamed && r.isAway() == next.isAway()
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
func (s *settings) restoredRuns(stored []Run, now fence.Instant) (d deep) {
	for _, one := range stored {
		d.order = append(d.order, &run{Run: one, inSince: s.storedSince(one.Age, one.Late, now)})
	}
	d.stirRuns()
	return d
}

// stirRuns notes that something has changed for the runs.
func (d *deep) stirRuns() {
	d.stirred, d.away = len(d.order) > 0, 0
	for _, r := range d.order {
		if r.isAway() {
			d.away++
		}
	}
}

// runsFrom returns the runs from the one that has a nonce, or the next one.
func (d *deep) runsFrom(index uint64) []*run {
	at, _ := slices.BinarySearchFunc(d.order, index, func(r *run, index uint64) int { return cmp.Compare(r.Last, index) })
	return d.order[at:]
}

// runOf returns the run that has a nonce, or nil.
func (d *deep) runOf(index uint64) *run {
	if after := d.runsFrom(index); len(after) > 0 && after[0].First <= index {
		return after[0]
	}
	return nil
}

// addRuns inserts runs, which are in order and whose nonces no run has.
func (d *deep) addRuns(more []*run) {
	if len(more) == 0 {
		return
	}
	all := merge(d.order, more, func(a, b *run) bool { return a.First > b.First })
	d.order = all[:0]
	for _, r := range all {
		if n := len(d.order); n == 0 || !d.order[n-1].joinsWith(r) {
			d.order = append(d.order, r)
		}
	}
	clear(all[len(d.order):])
	d.stirRuns()
}

// cutNonces removes nonces.
func (d *deep) cutNonces(first, last uint64) {
	var rest []*run
	at, n := len(d.order)-len(d.runsFrom(first)), 0
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
	d.stirRuns()
}

// isAsking reports whether the slot of a nonce, which was in the line, would come with the page that is under way: as it
// was before it left.
func (d *deep) isAsking(index uint64) bool {
	return d.asked != nil && d.asked.From <= index && index <= d.asked.To
}

// countAway counts the nonces that are to be sent again, from the account's next one on.
func (d *deep) countAway(best uint64) (n int) {
	if d.away == 0 {
		return 0
	}
	for _, r := range d.runsFrom(best) {
		if r.isAway() {
			n += int(r.Last - max(r.First, best) + 1)
		}
	}
	return n
}

// revertBlock notes that a block has left the chain, and returns the lowest nonce in it, or next if none is.
func (d *deep) revertBlock(b chain.Block, next uint64) uint64 {
	lowest := next
	for _, r := range d.order {
		if r.Block.Hash == b.Hash {
			r.reverted, lowest = true, min(lowest, r.First)
		}
	}
	d.stirRuns()
	return lowest
}

// noteUncounted notes that the chain does not count nonces from one on as used. The block of a run that was loaded may have left the
// chain before; those that were followed from block to block are told so.
func (d *deep) noteUncounted(best uint64) {
	for _, r := range d.runsFrom(best) {
		if !r.streamed && !r.isAway() {
			r.unused, d.stirred = true, true
			d.away++
		}
	}
}

// noteMoved notes that the nonce of a run is used in a block that was applied.
func (d *deep) noteMoved(index uint64, b chain.Block) {
	if r := d.runOf(index); r != nil && r.Block.Hash != b.Hash {
		r.reverted = true
		d.stirRuns()
	}
}
