package coordinator

import (
	"bytes"
	"maps"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// flight is what attempts on their way do to states: what differs from the ledger. An attempt stays in it until it is
// final, so that a sender whose ledger is some blocks behind still sees the states as they are.
type flight struct {
	spends  map[ledger.StateID]*work   // inputs
	creates map[ledger.StateID]output  // outputs
	readers map[ledger.StateID][]*work // reads
	oldest  *work                      // on board, and newest: the others are between them, in the order in which they came
	newest  *work
	changes []ledger.StateID // since version first
	first   uint64
}

type output struct {
	by    *work
	state domain.State
}

func newFlight() *flight {
	return &flight{spends: map[ledger.StateID]*work{}, creates: map[ledger.StateID]output{}, readers: map[ledger.StateID][]*work{}, first: 1}
}

// version counts the changes, and is never 0.
func (f *flight) version() uint64 { return f.first + uint64(len(f.changes)) }

func (f *flight) changed(id ledger.StateID) {
	f.changes = append(f.changes, id)
	if most := 1024 + 4*(len(f.spends)+len(f.creates)); len(f.changes) > most {
		gone := len(f.changes) / 2
		f.first += uint64(gone)
		f.changes = append([]ledger.StateID(nil), f.changes[gone:]...)
	}
}

// board adds an attempt, all of whose inputs are free.
func (f *flight) board(w *work, scheme ledger.Scheme) {
	a := w.whole.Attempt
	for _, id := range a.Inputs {
		f.spends[id] = w
		f.changed(id)
	}
	for _, id := range a.Reads {
		f.readers[id] = append(f.readers[id], w)
	}
	for i, secret := range w.whole.Outputs {
		id := scheme.State(w.assembled, i)
		f.creates[id] = output{w, domain.State{ID: id, Creator: a.Intent, Assembled: w.assembled, Secret: secret}}
		w.outputs = append(w.outputs, id)
		f.changed(id)
	}
	if w.boarded, w.before = true, f.newest; f.newest == nil {
		f.oldest = w
	} else {
		f.newest.after = w
	}
	f.newest = w
}

// leave takes an attempt out.
func (f *flight) leave(w *work) {
	if !w.boarded {
		return
	}
	a := w.whole.Attempt
	for _, id := range a.Inputs {
		if f.spends[id] == w {
			delete(f.spends, id)
			f.changed(id)
		}
	}
	for _, id := range a.Reads {
		f.unread(id, w)
	}
	f.withdraw(w)
	if w.before == nil {
		f.oldest = w.after
	} else {
		w.before.after = w.after
	}
	if w.after == nil {
		f.newest = w.before
	} else {
		w.after.before = w.before
	}
	w.boarded, w.before, w.after = false, nil, nil
}

// withdraw offers the outputs of an attempt no more, and returns them.
func (f *flight) withdraw(w *work) (outputs []ledger.StateID) {
	outputs, w.outputs = w.outputs, nil
	for _, id := range outputs {
		delete(f.creates, id)
		f.changed(id)
	}
	return outputs
}

// clear forgets the changes when nothing is in flight: who knows an earlier version is told that there is nothing.
func (f *flight) clear() {
	if len(f.spends)+len(f.creates)+len(f.readers) == 0 {
		first := f.version()
		*f = *newFlight()
		f.first = first
	}
}

func (f *flight) unread(id ledger.StateID, w *work) {
	all := f.readers[id]
	for i, r := range all {
		if r == w {
			all = append(all[:i], all[i+1:]...)
			break
		}
	}
	if f.readers[id] = all; len(all) == 0 {
		delete(f.readers, id)
	}
}

// context returns what a sender has to know that is at a version, 0 for nothing, and still lacks some changes up to it.
// Left are those for which a message has no room: it is told of them with the next one.
func (f *flight) context(at uint64, lacks []ledger.StateID, room int) (c wire.Context, left []ledger.StateID) {
	c = wire.Context{Base: at, Version: f.version()}
	var ids []ledger.StateID
	if at < f.first || at > c.Version {
		c.Base = 0
		ids = slices.Concat(inOrder(f.spends), inOrder(f.creates)) // the sender may have the first ones from a block
	} else {
		ids = slices.Concat(lacks, f.changes[at-f.first:])
	}
	seen := map[ledger.StateID]bool{}
	for i, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		made, own := f.creates[id]
		list, size := &c.Gone, nameSize
		switch locked := f.spends[id] != nil; {
		case locked:
			list = &c.Locked
		case own:
			list, size = nil, wire.StateSize(made.state)+nameSize
		}
		if room -= size; room < 0 || list == nil && len(c.Created) == wire.MostItems || list != nil && len(*list) == wire.MostNames {
			return c, ids[i:]
		}
		if list == nil {
			c.Created = append(c.Created, made.state)
		} else {
			*list = append(*list, id)
		}
	}
	return c, nil
}

const nameSize = 40 // of a state's name in a message, at most

// tips returns the unspent states that have come of states: what is exclusive to the sender that lost them. Others may
// have spent them many times since.
func (f *flight) tips(of []ledger.StateID, most int) (tips []ledger.StateID) {
	seen := map[ledger.StateID]bool{}
	next := slices.Clone(of)
	for n := 0; n < len(next) && len(tips) < most && n < mostSteps; n++ {
		id := next[n]
		if seen[id] {
			continue
		}
		seen[id] = true
		if by := f.spends[id]; by != nil {
			next = append(next, by.outputs...)
			continue
		}
		tips = append(tips, id)
	}
	return tips
}

// mostSteps is how far it is looked for what has become of states.
const mostSteps = 4096

func inOrder[V any](of map[ledger.StateID]V) []ledger.StateID {
	return slices.SortedFunc(maps.Keys(of), func(a, b ledger.StateID) int { return bytes.Compare(a[:], b[:]) })
}
