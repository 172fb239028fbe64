package majority

import (
	"errors"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// The names of a member's values.
const (
	hardName = "quorum/hard"
	baseName = "quorum/base"
	markName = "quorum/mark"
)

// Promises keeps what a [Machine] asks to be kept, in a store: its entries are slots, the rest are values.
type Promises struct{ store store.Store }

// NewPromises returns what keeps an authority's promises in a store. One goroutine uses it, the one that writes the store.
func NewPromises(s store.Store) Promises { return Promises{store: s} }

// Load returns what is kept. A store in which no member has written yet has promised nothing. The error is one of the store, or
// txlog.ErrVersion if a newer program has written it.
func (m Promises) Load() (stored Stored, err error) {
	hard := m.store.Value(hardName)
	if hard == nil {
		return Fresh(m.store.Genesis()), nil
	}
	if stored.Hard, err = decodeHard(hard); err != nil {
		return Stored{}, unread(store.ErrDamaged, err, "%s", hardName)
	}
	if stored.Base, err = decodeBase(m.store.Value(baseName)); err != nil {
		return Stored{}, unread(store.ErrDamaged, err, "%s", baseName)
	}
	if stored.Mark, err = decodeMark(m.store.Value(markName)); err != nil {
		return Stored{}, unread(store.ErrDamaged, err, "%s", markName)
	}
	view := m.store.View()
	next := stored.Base.Index + 1
	for from := view.FirstSlot; from < view.NextSlot; from = next {
		slots, err := m.store.Slots(from, atMost)
		if err != nil {
			return Stored{}, err
		}
		for _, s := range slots {
			e, err := decodeSlot(s)
			if err != nil {
				return Stored{}, unread(store.ErrDamaged, err, "slot %d", s.Index)
			}
			if s.Index != next {
				return Stored{}, fault(store.ErrDamaged, "slot %d is no entry %d", s.Index, next)
			}
			stored.Entries, next = append(stored.Entries, e), next+1
		}
	}
	if stored.Mark.At.Index > view.Last.Index {
		return Stored{}, fault(store.ErrDamaged, "the authority has told record %d, and the last one here is %d", stored.Mark.At.Index, view.Last.Index)
	}
	return stored, nil
}

// atMost is how many bytes are read in one reading.
const atMost = 4 << 20

// Persist keeps a step's changes, all or none of them. They are on the disk when it returns, unless they may wait (Persist.Sync). After an
// error nobody knows what is kept: the store is not used any more.
func (m Promises) Persist(p Persist) error {
	step := store.Step{Values: map[string][]byte{}, Lazy: !p.Sync}
	view := m.store.View()
	if m.store.Value(hardName) == nil { // all three are there, or none
		g := Fresh(m.store.Genesis())
		set(&step, &g.Hard, &g.Base, &g.Mark)
	}
	set(&step, p.Hard, nil, p.Mark)
	if p.Reset != nil {
		step.Empty = true
		set(&step, nil, &p.Reset.Base, p.Reset)
		if p.Mark != nil {
			set(&step, nil, nil, p.Mark)
		}
	}
	for _, e := range p.Entries {
		step.Slots = append(step.Slots, e.slot())
	}
	base, err := m.base(p)
	if err != nil {
		return err
	}
	if p.Base != nil && p.Base.Index > base.Index {
		set(&step, nil, p.Base, nil)
		step.Below = p.Base.Index + 1
	}
	if step.Records, err = m.news(view, p.Records); err != nil {
		return err
	}
	step.Lazy = step.Lazy && len(step.Slots) == 0
	return m.store.Write(step)
}

// base returns the place below the first entry, before Persist.Base counts.
func (m Promises) base(p Persist) (Base, error) {
	if p.Reset != nil {
		return p.Reset.Base, nil
	}
	b := m.store.Value(baseName)
	if b == nil {
		return Fresh(m.store.Genesis()).Base, nil
	}
	base, err := decodeBase(b)
	if err != nil {
		return Base{}, unread(store.ErrDamaged, err, "%s", baseName)
	}
	return base, nil
}

func set(step *store.Step, hard *Hard, base *Base, mark *Mark) {
	if hard != nil {
		step.Values[hardName] = hard.Encode()
	}
	if base != nil {
		step.Values[baseName] = base.Encode()
	}
	if mark != nil {
		step.Values[markName] = mark.Encode()
	}
}

// news returns the records that are not here yet: a member that was behind has stored some that came another way. The error is
// store.ErrStep if one of those is another record. One that a snapshot has replaced is not compared, also if that happens meanwhile.
func (m Promises) news(view store.View, records []txlog.Record) ([]txlog.Record, error) {
	for len(records) > 0 && records[0].Index <= view.Last.Index {
		if index := records[0].Index; index > view.Floor.Index {
			here, err := m.store.Records(index, 1)
			switch {
			case errors.Is(err, store.ErrGone):
			case err != nil:
				return nil, err
			case here[0].Hash() != records[0].Hash():
				return nil, fault(store.ErrStep, "record %d is committed with another hash than the one here", index)
			}
		}
		records = records[1:]
	}
	return records, nil
}
