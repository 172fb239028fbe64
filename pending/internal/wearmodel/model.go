package wearmodel

import "slices"

// broken are the rules that a run does without: a leader may do what they forbid.
type broken struct {
	expiryBest    bool // an intent gets another nonce since its era is over at some head
	expirySilent  bool // or at the final block, whose ancestors nobody has read
	upgrade       bool // or since its attempt is for another version than that of some block
	badProof      bool // it is rejected for that
	finalByNumber bool // what is as high as the final block counts as final, on any branch

	noPad        bool // a life does not begin with a filler that is soon dead
	immortal     bool // attempts never wear out
	lifeAtOnce   bool // a life begins while attempts of the one before can still be included
	forgetLanded bool // or before what has landed in that is done
}

const (
	padEra = 1 // blocks above the final one that take a pad, the filler with which a life begins
	nonces = 4
)

// What a block has of the account.
const (
	nothing uint8 = iota
	stranger
	itself
	pad
	reaping // the account ceases to exist, and its nonces begin anew
	funding // it exists again
)

type attempt struct {
	nonce, left, version uint8 // left: the blocks above the final one that still take it
	pad                  bool
}

type block struct {
	has     uint8
	upgrade bool
}

type branch struct {
	blocks [2]block
	high   uint8
}

// What the store says of the intent.
const (
	open uint8 = iota
	done
	rejected
)

type state struct { //nolint:recvcheck // a move is of a copy, and what is asked of a state is not
	used     uint8         // nonces, in the final chain, of this life
	by       [nonces]uint8 // of each nonce: what used it there
	before   uint8         // how often the intent landed in an earlier life
	life     uint8
	reaped   bool  // and not funded again
	version  uint8 // after the final block
	branches [2]branch
	dead     uint8 // what the branch that has died last had in the block as high as the final one,
	deadAt   uint8 // and its nonce

	attempts [3]attempt // in order; a zero left is none
	slot     int8       // the intent's nonce; -1: it has none
	next     uint8      // the lowest nonce that may be given
	said     uint8
	knows    uint8 // the life that the store has
	padAt    int8  // the pad's nonce; -1: it has none
	padded   bool  // the pad is final and dead
	era      uint8 // of the world: blocks above the final one that take what is signed now
}

func (s *state) landed() (n uint8) {
	for _, by := range s.by {
		if by == itself {
			n++
		}
	}
	return n
}

// fault says which promise is broken.
func (s *state) fault() string {
	switch n := s.before + s.landed(); {
	case n > 1:
		return "twice"
	case s.said == done && n == 0:
		return "false done"
	case s.said == rejected && n > 0:
		return "false rejected"
	}
	return ""
}

// head is a block that a leader may read: the final one, or the newest of a branch.
type head struct {
	high, next, version, life uint8
	reaped                    bool
}

func (s *state) heads() []head {
	all := []head{s.headOf(branch{})}
	for _, b := range s.branches {
		if b.high > 0 {
			all = append(all, s.headOf(b))
		}
	}
	return all
}

func (s *state) headOf(b branch) head {
	h := head{b.high, s.used, s.version, s.life, s.reaped}
	for _, one := range b.blocks[:b.high] {
		switch one.has {
		case nothing:
		case reaping:
			h.next, h.reaped, h.life = 0, true, h.life+1
		case funding:
			h.reaped = false
		default:
			h.next++
		}
		if one.upgrade {
			h.version++
		}
	}
	return h
}

// with adds an attempt, if there is room.
func (s state) with(a attempt) (state, bool) {
	if slices.Contains(s.attempts[:], a) || s.attempts[0].left > 0 {
		return s, false
	}
	s.attempts[0] = a
	s.sort()
	return s, true
}

func (s *state) sort() {
	weight := func(a attempt) int {
		w := int(a.left)*1000 + int(a.nonce)*100 + int(a.version)*10
		if a.pad {
			w++
		}
		return w
	}
	slices.SortFunc(s.attempts[:], func(a, b attempt) int { return weight(a) - weight(b) })
}

// chainMoves returns what may happen to the chain.
func (s state) chainMoves(w world, rules broken) (all []state) {
	for i := range s.branches[:w.branches] {
		b := s.branches[i]
		if b.high > 0 {
			all = append(all, s.finalize(i, rules))
		}
		if b.high == 2 {
			continue
		}
		grow := func(one block) {
			t := s
			t.branches[i].blocks[b.high] = one
			t.branches[i].high++
			all = append(all, t)
		}
		h := s.headOf(b)
		grow(block{})
		if w.upgrades && h.version < 1 {
			grow(block{upgrade: true})
		}
		switch {
		case h.reaped:
			grow(block{has: funding})
			continue
		case w.reaps && h.life == 0 && h.next > 0:
			grow(block{has: reaping})
		}
		if h.next == nonces {
			continue
		}
		if w.stranger && h.life == 0 || w.strangerAnew && h.life > 0 {
			grow(block{has: stranger})
		}
		for _, has := range []uint8{itself, pad} {
			if slices.ContainsFunc(s.attempts[:], func(a attempt) bool {
				return a.left > h.high && a.nonce == h.next && a.version == h.version && a.pad == (has == pad)
			}) {
				grow(block{has: has})
			}
		}
	}
	return all
}

// finalize makes the lowest block of a branch final. The other branch dies.
func (s state) finalize(i int, rules broken) state {
	b, other := &s.branches[i], &s.branches[1-i]
	one := b.blocks[0]
	b.blocks[0], b.blocks[1] = b.blocks[1], block{}
	b.high--
	if s.dead, s.deadAt = other.blocks[0].has, s.used; s.dead != itself && s.dead != stranger {
		s.dead, s.deadAt = nothing, 0
	}
	*other = branch{}
	switch one.has {
	case nothing:
	case reaping:
		s.before += s.landed()
		s.used, s.by, s.reaped, s.life = 0, [nonces]uint8{}, true, s.life+1
	case funding:
		s.reaped = false
	default:
		s.by[s.used] = one.has
		s.used++
	}
	if one.upgrade {
		s.version++
	}
	for n := range s.attempts {
		if a := &s.attempts[n]; rules.immortal {
			continue
		} else if a.left <= 1 {
			*a = attempt{}
		} else {
			a.left--
		}
	}
	s.sort()
	return s
}

// leaderMoves returns what a leader may do.
func (s state) leaderMoves(rules broken) (all []state) {
	switch {
	case s.said != open:
		return nil
	case s.life != s.knows:
		return s.beginLife(rules)
	case !s.padded && !rules.noPad:
		return s.padMoves(rules)
	}
	for _, h := range s.heads() {
		if h.life != s.knows || h.reaped {
			continue // nothing is signed as of it
		}
		if s.slot < 0 {
			if nonce := max(h.next, s.next); nonce < nonces {
				if t, is := s.with(attempt{nonce, s.era, h.version, false}); is {
					t.slot = int8(nonce)
					all = append(all, t)
				}
			}
			continue
		}
		all = append(all, s.openMoves(rules, h)...)
	}
	if s.slot < 0 {
		return all
	}
	by := s.by[s.slot]
	if rules.finalByNumber && uint8(s.slot) == s.deadAt && by == nothing {
		by = s.dead
	}
	switch by {
	case itself:
		s.said = done
		all = append(all, s)
	case stranger:
		all = append(all, s.handedOn())
	}
	return all
}

// openMoves returns what may be done for the intent, which has a slot, as of a head.
func (s state) openMoves(rules broken, h head) (all []state) {
	slot := uint8(s.slot)
	if t, is := s.with(attempt{slot, s.era, h.version, false}); is { // signed anew, whenever it likes
		all = append(all, t)
	}
	mine := func(of func(attempt) bool) bool {
		return slices.ContainsFunc(s.attempts[:], func(a attempt) bool { return a.left > 0 && !a.pad && a.nonce == slot && of(a) })
	}
	over := !mine(func(a attempt) bool { return a.left > h.high })
	other := mine(func(a attempt) bool { return a.version != h.version })
	if rules.expiryBest && over && h.high > 0 && h.next <= slot || rules.expirySilent && over && h.high == 0 || rules.upgrade && other {
		all = append(all, s.handedOn())
	}
	if rules.badProof && other {
		s.said = rejected
		all = append(all, s)
	}
	return all
}

// padMoves returns what may be done until the pad is final and dead.
func (s state) padMoves(rules broken) (all []state) {
	for _, h := range s.heads() {
		if h.life != s.knows || h.reaped {
			continue
		}
		nonce := max(h.next, s.next)
		if s.padAt >= 0 {
			nonce = uint8(s.padAt)
		}
		if nonce < nonces {
			if t, is := s.with(attempt{nonce, padEra, h.version, true}); is {
				t.padAt = int8(nonce)
				all = append(all, t)
			}
		}
	}
	if s.padAt < 0 {
		return all
	}
	switch by := s.by[s.padAt]; {
	case by == stranger:
		s.next, s.padAt = uint8(s.padAt)+1, -1
		all = append(all, s)
	case by == pad && (rules.immortal || !slices.ContainsFunc(s.attempts[:], func(a attempt) bool { return a.pad && a.left > 0 })):
		s.padded, s.next = true, uint8(s.padAt)+1
		all = append(all, s)
	}
	return all
}

// beginLife lets the intent wait for a slot of the new life, or finds that it was done in the old one.
func (s state) beginLife(rules broken) []state {
	if s.before > 0 && !rules.forgetLanded {
		s.said = done
		return []state{s}
	}
	if s.attempts[len(s.attempts)-1].left > 0 && !rules.lifeAtOnce {
		return nil
	}
	s.knows, s.slot, s.next, s.padAt, s.padded = s.life, -1, s.used, -1, false
	return []state{s}
}

// handedOn lets the intent have another nonce.
func (s state) handedOn() state {
	s.next, s.slot = uint8(s.slot)+1, -1
	return s
}

type world struct {
	name               string
	branches           int
	era                uint8
	stranger, upgrades bool
	reaps              bool // the account is reaped, once
	strangerAnew       bool // a stranger has the key in its second life
	holds              bool // the rules suffice
}

var worlds = []world{
	{name: "one branch", branches: 1, era: 3, holds: true},
	{name: "forks", branches: 2, era: 2, holds: true},
	{name: "forks, a stranger", branches: 2, era: 2, stranger: true, holds: true},
	{name: "forks, upgrades", branches: 2, era: 2, upgrades: true, holds: true},
	{name: "a stranger, upgrades", branches: 1, era: 3, stranger: true, upgrades: true, holds: true},
	{name: "reaped", branches: 1, era: 5, reaps: true, holds: true},
	{name: "reaped, once a stranger", branches: 1, era: 5, reaps: true, stranger: true, holds: true},
	{name: "reaped, a stranger anew", branches: 1, era: 5, reaps: true, strangerAnew: true}, // only an account that cannot be reaped may be shared
}

// explore visits all states, and returns the first fault and after how many steps it came.
func (w world) explore(rules broken) (fault string, steps, states int) {
	begin := state{slot: -1, padAt: -1, era: w.era}
	seen, level := map[state]bool{begin: true}, []state{begin}
	for ; len(level) > 0; steps++ {
		var further []state
		for _, s := range level {
			if fault := s.fault(); fault != "" {
				return fault, steps, len(seen)
			}
			for _, t := range slices.Concat(s.chainMoves(w, rules), s.leaderMoves(rules)) {
				if !seen[t] {
					seen[t] = true
					further = append(further, t)
				}
			}
		}
		level = further
	}
	return "", steps, len(seen)
}
