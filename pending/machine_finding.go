package pending

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// finding decides where attempts are looked for, and what is believed of a slot by what is found. A probe looks attempts
// up by their hashes, in the chain and in a node's pool. A search reads blocks, for two reasons: to find the transaction
// that used the nonce of a slot, and to find those of an earlier term, if reading blocks takes fewer calls than looking
// them up (recall). Whatever is found on the way counts (W13). What is found in a block is not final yet: see proving.
//
// It takes seen and found. It asks for probe and search.
type finding struct {
	*account

	front *front // sends attempts again with each look through the pool

	cursor   uint64        // the nonce at which the next look through the pool begins
	lookedAt uint64        // the height of the last look through the pool
	lookBy   fence.Instant // look through the pool at this instant even if no block has come
	recall   recall
}

// noteHead takes the height of a new head. After a rewind the noted height may lie above the head.
func (f *finding) noteHead(height uint64, first bool) {
	if first {
		f.lookedAt = height
	}
	f.lookedAt = min(f.lookedAt, height)
}

// takeLoaded starts over from the stored rows.
func (f *finding) takeLoaded() {
	f.cursor, f.lookedAt, f.recall = 0, 0, recall{below: f.best}
}

// nextDue returns when the pool is looked through even if no block comes; 0 means never.
func (f *finding) nextDue() fence.Instant {
	if f.underway.isUnderway(toLook) || f.pace.reread != 0 {
		return 0
	}
	return f.lookBy
}

// askProbe looks up the slots in doubt and, every ResendAfter blocks, some of those that a node has
// accepted, since a pool drops transactions without notice.
func (f *finding) askProbe(now fence.Instant) {
	if f.underway.isUnderway(toLook) {
		return
	}
	var hashes []lookup
	add := func(s *slot) {
		for _, a := range s.Attempts {
			hashes = append(hashes, lookup{Index: s.Index, Hash: a.Hash})
		}
	}
	for _, s := range f.slots.inOrder() {
		if !f.census.doubts || len(hashes) >= f.pace.mostRead {
			break
		}
		if s.doubt && !f.isRecalled(s) {
			add(s)
		}
	}
	if f.head.Number >= f.lookedAt+f.set.ResendAfter || now >= f.lookBy {
		f.lookedAt, f.lookBy = f.head.Number, now.Add(f.set.Patience)
		f.front.offerAgain()
		f.goRound(func(s *slot) bool {
			if s.withNode() {
				add(s)
			}
			return len(hashes) < f.pace.mostRead
		})
	}
	if len(hashes) > 0 {
		f.giveOrder(probe{Hashes: hashes})
	}
}

// goRound visits the slots from the cursor on, round robin, until visit returns false.
func (f *finding) goRound(visit func(*slot) bool) {
	order := f.slots.inOrder()
	start := len(order) - len(f.slots.slotsFrom(f.cursor))
	for i := range order {
		s := order[(start+i)%len(order)]
		f.cursor = s.Index + 1
		if !visit(s) {
			return
		}
	}
}

// takeSeen takes the places where attempts were found. An attempt found nowhere is sent again,
// unchanged. That its nonce is used counts only once the transaction that used it is found, or W14 gives it up.
func (f *finding) takeSeen(in seen) {
	f.pace.readWell(f.set.MaxBatch)
	best := map[uint64]chain.Sighting{} // of each slot
	for i, one := range in.Sightings {
		index := in.Hashes[i].Index
		if f.set.NoIndex && index < f.best {
			one = chain.Sighting{} // a block has used the nonce, and the pool says nothing of it
		}
		s := f.slots.slotAt(index)
		if s == nil {
			continue
		}
		attempt, delivery := s.findAttempt(in.Hashes[i].Hash)
		if attempt == nil {
			continue
		}
		if had, is := best[index]; !is || !had.Included() && (one.Included() || one.Pooled) {
			best[index] = one
		}
		switch {
		case one.Included():
			if s.in == nil || s.isVacant() || !s.streamed && s.in.Block.Hash != one.Block.Hash {
				f.placeSlot(s, &chain.Inclusion{Index: index, Hash: attempt.Hash, Block: one.Block, Effect: one.Effect}, false)
				s.retracted = false
			}
		case one.Pooled:
			delivery.reached, s.untaken = pooled, chain.Outcome{}
		case delivery.reached != refused && delivery.reached != worn:
			delivery.reached = gone
		}
	}
	for _, index := range slices.Sorted(maps.Keys(best)) {
		f.weighSighting(f.slots.slotAt(index), best[index])
	}
}

// weighSighting concludes from where an attempt of the slot was found: from the best place, if several were.
func (f *finding) weighSighting(s *slot, best chain.Sighting) {
	nowhere := !best.Included() && !best.Pooled
	s.doubt = false
	switch {
	case best.Included():
		s.payMore, s.contradicted = false, false
	case s.in != nil && f.set.NoIndex: // nothing was looked up in blocks: whether its own is linked decides
		s.contradicted = !s.inFinal && (!s.streamed || s.refuted)
	case s.in != nil && s.refuted: // neither a second witness nor a lookup finds it there: send it again
		f.retractSlot(s)
	case s.in != nil:
		s.contradicted = !s.streamed && !s.inFinal // one answer is no proof that its block has left the chain
	case nowhere && s.passed > 0 && f.head.Number >= s.passed+f.searchAfter():
		s.spent = true
	case nowhere && s.outbid:
		s.payMore, s.stuck = true, false // another sender's transaction with this nonce is in the pool
	case s.outbid && s.olderPooled():
		s.payMore, s.stuck = true, false // an older attempt is in the pool, and the node wants more to replace it
	}
	s.outbid = false
}

// searchAfter returns for how many blocks the chain has to count a nonce as used before blocks are searched for it: without an
// index nothing else would find it.
func (f *finding) searchAfter() uint64 {
	if f.set.NoIndex {
		return believedAfter
	}
	return f.set.SearchAfter
}

// searches is how many blocks one action reads.
const searches = 50

// reach is how far below Since to search: a reorganisation may have moved a transaction down.
const reach = 64

// askSearch reads blocks for the recall, or for one slot whose nonce is used.
func (f *finding) askSearch() {
	if f.underway.isUnderway(toSearch) || f.head.Hash == "" {
		return
	}
	if f.recall.at > 0 {
		f.giveOrder(search{Recall: true, Of: f.head, From: f.recall.at})
		return
	}
	if !f.census.spent {
		return
	}
	for _, s := range f.slots.inOrder() {
		if !s.spent {
			continue
		}
		to := f.searchTo(s)
		if s.searchAt == 0 {
			since := min(s.Since, to.Number)
			s.searchAt = f.above(since - min(since, reach))
		}
		f.giveOrder(search{Index: s.Index, Of: to, From: s.searchAt})
		return
	}
}

// searchTo returns the last block that a search reads: the head, or the final one of a vacant nonce.
func (f *finding) searchTo(s *slot) chain.Block {
	if s.isVacant() {
		return s.first
	}
	return f.head
}

// takeFound takes the account's transactions in some blocks, and how far the reading has got.
func (f *finding) takeFound(in found) {
	for i := range in.Placed {
		one := &in.Placed[i]
		if s := f.slots.slotAt(one.Index); s != nil && (s.in == nil || s.isVacant()) {
			f.placeSlot(s, one, false)
		}
	}
	if in.Recall {
		f.recall.goOn(in.Next, f.head.Number)
		return
	}
	s := f.slots.slotAt(in.Index)
	if s == nil || !s.spent {
		return
	}
	if s.searchAt = max(s.searchAt, in.Next); s.searchAt <= f.searchTo(s).Number {
		return // go on
	}
	s.spent, s.searchAt = false, 0
	if s.isVacant() {
		s.noteFinal()
		return
	}
	s.Since -= min(s.Since, reach) // after a rewind it may have been included lower down
	f.suspectVacant(s)
}

// suspectVacant notes that a search has found no transaction with a nonce that is used.
func (f *finding) suspectVacant(s *slot) {
	f.placeSlot(s, &chain.Inclusion{Index: s.Index, Block: f.head}, true)
	f.setAlarm(Alarm{Cause: Consumed, Index: s.Index}, true)
}

// recall is the reading of blocks for the slots of an earlier term that the chain counts as used, and for which no
// block is stored. It ends at the head as of its beginning: later blocks come with the stream of heads. What it
// does not find is looked up by hash. Without an index it has no choice, and reads no block above the last one that takes any of
// their attempts: the era bounds it, and not the number of slots.
type recall struct {
	below    uint64 // slots of the earlier term below this nonce wait for it; 0: it is over
	at       uint64 // the height at which reading goes on; 0: it has not begun
	to       uint64 // the last height to read
	failures int    // in a row
}

const (
	callsOfBlock   = 3 // its header, its transactions, its receipts
	recallFailures = 3 // in a row, after which slots are looked up by hash
)

// isRecalled reports whether the slot waits for the recall.
func (f *finding) isRecalled(s *slot) bool { return s.Index < f.recall.below && s.isUnheard() }

// beginRecall decides whether to read blocks. A single request for hashes is made at once; else the decision needs
// the head.
func (f *finding) beginRecall() {
	if f.recall.below == 0 || f.recall.at > 0 {
		return
	}
	hashes, slots, lowest, until := 0, 0, f.head.Number, uint64(0)
	for _, s := range f.slots.inOrder() {
		if f.isRecalled(s) {
			slots++
			hashes += len(s.Attempts)
			lowest = min(lowest, s.Since)
			until = max(until, s.lastsUntil())
		}
	}
	switch {
	case hashes == 0, !f.set.NoIndex && hashes <= f.set.MaxBatch:
		f.recall = recall{}
	case f.head.Hash == "":
	case !f.set.NoIndex && uint64(hashes+slots) <= callsOfBlock*(f.head.Number-lowest+1):
		f.recall = recall{}
	default:
		f.recall.at, f.recall.to = f.above(lowest), min(f.head.Number, until) // block 0 has no transactions
	}
}

// lastsUntil returns the height of the last block that takes any of the slot's attempts.
func (s *slot) lastsUntil() (height uint64) {
	for _, a := range s.Attempts {
		if height = max(height, a.Until); a.Until == 0 {
			return noFinal
		}
	}
	return height
}

// goOn notes that the blocks below a height have been read. The head may be lower than it was.
func (r *recall) goOn(next, head uint64) {
	if r.at == 0 {
		return // the rows were loaded anew meanwhile
	}
	if next > r.at {
		r.at, r.failures = next, 0
	}
	if r.at > min(r.to, head) {
		*r = recall{}
	}
}

// takeFailed notes that blocks could not be read. Without an index there is nothing else to do but to try again.
func (f *finding) takeFailed(failed search) {
	if r := &f.recall; failed.Recall && !f.set.NoIndex {
		if r.failures++; r.failures == recallFailures {
			*r = recall{}
		}
	}
}
