package store

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// Next returns the view after a step. It is what each store does first. The error is ErrStep.
func (v View) Next(step Step) (View, error) {
	if err := checkValues(step.Values); err != nil {
		return View{}, err
	}
	next, err := v.slots(step)
	if err != nil {
		return View{}, err
	}
	for _, r := range step.Records {
		switch {
		case r.Raw() == nil:
			return View{}, fault(ErrStep, "a record of no bytes")
		case r.Log != next.Last.Log || r.Index != next.Last.Index+1 || r.Prev != next.Last.Hash || r.Term < next.Last.Term:
			return View{}, fault(ErrStep, "record %d of term %d does not follow %d of term %d", r.Index, r.Term, next.Last.Index, next.Last.Term)
		}
		next.Last = r.Position()
	}
	if step.Lazy && (step.Empty || len(step.Slots) > 0) {
		return View{}, fault(ErrStep, "slots are a promise, and cannot be stored later")
	}
	return next, next.checkHeads(step.Heads)
}

// slots moves the bounds of the slots.
func (v View) slots(step Step) (View, error) {
	if step.Empty {
		v.FirstSlot, v.NextSlot = 0, 0
	}
	for i, s := range step.Slots {
		switch {
		case s.Index == 0 || s.Size() > limits.MostSlot:
			return View{}, fault(ErrStep, "slot %d of %d bytes, of %d at most", s.Index, s.Size(), limits.MostSlot)
		case s.Index != step.Slots[0].Index+uint64(i):
			return View{}, fault(ErrStep, "slot %d comes after slot %d", s.Index, step.Slots[i-1].Index)
		case s.Record.Raw() != nil && s.Record.Log != v.Last.Log:
			return View{}, fault(ErrStep, "slot %d has a record of log %s, and this is %s", s.Index, s.Record.Log.Short(), v.Last.Log.Short())
		}
	}
	if len(step.Slots) > 0 {
		first := step.Slots[0].Index
		switch {
		case v.FirstSlot == v.NextSlot && (step.Empty || v.NextSlot == 0):
			v.FirstSlot = first
		case first < v.FirstSlot || first > v.NextSlot:
			return View{}, fault(ErrStep, "slot %d does not follow slots %d to %d", first, v.FirstSlot, v.NextSlot)
		}
		v.NextSlot = first + uint64(len(step.Slots))
	}
	if step.Below > v.NextSlot {
		return View{}, fault(ErrStep, "slots below %d are dropped, and the next one is %d", step.Below, v.NextSlot)
	}
	v.FirstSlot = max(v.FirstSlot, step.Below)
	return v, nil
}

func (v View) checkHeads(heads []txlog.Head) error {
	for _, h := range heads {
		if h.Log != v.Last.Log || h.Index < v.Floor.Index || h.Index > v.Last.Index {
			return fault(ErrStep, "a head at %d, and the records begin after %d and end at %d", h.Index, v.Floor.Index, v.Last.Index)
		}
	}
	return nil
}

func checkValues(values map[string][]byte) error {
	for name, value := range values {
		if name == "" || len(name) > limits.MostValueName || !utf8.ValidString(name) {
			return fault(ErrStep, "a value's name is a text of 1 to %d bytes", limits.MostValueName)
		}
		if len(value) > limits.MostValue {
			return fault(ErrStep, "value %s has %d bytes, of %d at most", name, len(value), limits.MostValue)
		}
	}
	return nil
}

// CheckNumber limits the number of values after the step. The error is ErrStep.
func (s Step) CheckNumber(have map[string][]byte) error {
	n := len(have)
	for name, value := range s.Values {
		switch _, is := have[name]; {
		case value != nil && !is:
			n++
		case value == nil && is:
			n--
		}
	}
	if n > max(limits.MostValues, len(have)) {
		return fault(ErrStep, "%d values, of %d at most", n, limits.MostValues)
	}
	return nil
}

// CheckRecords checks that the records of the step's slots come after that of the slot before them, which has an index. The error is ErrStep.
func (s Step) CheckRecords(before uint64) error {
	for _, of := range s.Slots {
		if of.Record.Raw() == nil {
			continue
		}
		if of.Record.Index <= before {
			return fault(ErrStep, "slot %d has record %d, and before it is record %d", of.Index, of.Record.Index, before)
		}
		before = of.Record.Index
	}
	return nil
}

// Place says where a snapshot at a position belongs: ahead of the records that are here, so that the log goes on from it, or
// known, if it is here already. With is stored at once with it. Hash returns the hash of the record at an index that is here.
// The error is ErrStep.
func (v View) Place(at txlog.Position, size int, with Step, hash func(index uint64) (txlog.Hash, error)) (ahead, known bool, err error) {
	switch {
	case with.Empty || with.Below > 0 || len(with.Slots) > 0 || len(with.Records) > 0:
		return false, false, fault(ErrStep, "only values and heads are stored with a snapshot")
	case at.Log != v.Last.Log:
		return false, false, fault(ErrStep, "a snapshot of log %s, and this is %s", at.Log.Short(), v.Last.Log.Short())
	case size == 0 || size > limits.MostSnapshot:
		return false, false, fault(ErrStep, "a snapshot of %d bytes, of %d at most", size, limits.MostSnapshot)
	case at.Index < v.Floor.Index:
		return false, false, fault(ErrStep, "a snapshot at %d, and the records begin after %d", at.Index, v.Floor.Index)
	}
	if err := checkValues(with.Values); err != nil {
		return false, false, err
	}
	if at.Index > v.Last.Index {
		return true, false, v.With(Kept{At: at}, true).checkHeads(with.Heads)
	}
	here := v.Floor.Hash
	if at.Index > v.Floor.Index {
		if here, err = hash(at.Index); err != nil {
			return false, false, err
		}
	}
	if here != at.Hash {
		return false, false, fault(ErrStep, "a snapshot at %d with another hash than the record there", at.Index)
	}
	known = slices.ContainsFunc(v.Kept, func(k Kept) bool { return k.At.Index == at.Index })
	return false, known, v.checkHeads(with.Heads)
}

// With returns the view with one more snapshot.
func (v View) With(k Kept, ahead bool) View {
	if ahead {
		v.Floor, v.Last = k.At, k.At
	}
	v.Kept = append(slices.Clone(v.Kept), k)
	slices.SortFunc(v.Kept, func(a, b Kept) int { return cmp.Compare(a.At.Index, b.At.Index) })
	return v
}

// Find returns the snapshot at an index, of which a piece is asked. The error is ErrGone.
func (v View) Find(index uint64, offset, most int) (Kept, error) {
	i := slices.IndexFunc(v.Kept, func(k Kept) bool { return k.At.Index == index })
	if i < 0 || offset < 0 || offset >= v.Kept[i].Size || most <= 0 {
		return Kept{}, fault(ErrGone, "%d bytes from byte %d of the snapshot at %d", most, offset, index)
	}
	return v.Kept[i], nil
}

// RecordsFrom returns how many records are here from an index on. The error is ErrGone.
func (v View) RecordsFrom(from uint64) (int, error) {
	if from <= v.Floor.Index || from > v.Last.Index+1 {
		return 0, fault(ErrGone, "record %d; the store has those from %d to %d", from, v.Floor.Index+1, v.Last.Index)
	}
	return int(v.Last.Index + 1 - from), nil
}

// SlotsFrom returns how many slots are here from an index on. The error is ErrGone.
func (v View) SlotsFrom(from uint64) (int, error) {
	if from < v.FirstSlot || from > v.NextSlot {
		return 0, fault(ErrGone, "slot %d; the store has those from %d to before %d", from, v.FirstSlot, v.NextSlot)
	}
	return int(v.NextSlot - from), nil
}

// Newest returns the newest snapshot. It is false if there is none.
func (v View) Newest() (Kept, bool) {
	if len(v.Kept) == 0 {
		return Kept{}, false
	}
	return v.Kept[len(v.Kept)-1], true
}

// Compactable checks that what Compact leaves is enough to begin from. The error is ErrStep.
func (v View) Compactable(upto uint64) error {
	newest, has := v.Newest()
	if upto > v.Floor.Index && (!has || upto > newest.At.Index) {
		return fault(ErrStep, "records up to %d are dropped, and no snapshot is at or after it", upto)
	}
	return nil
}

// Clone returns a view that shares nothing.
func (v View) Clone() View {
	v.Kept = slices.Clone(v.Kept)
	return v
}
