package keyed

import "iter"

// View is what a store was at one time. It never changes.
type View struct{ values sorted }

// View returns the store as it is, for questions. What is shared with it is copied before it changes.
func (s *Store) View() View { return View{values: s.values.view()} }

// Get returns the entry of a key; empty: there is none.
func (v View) Get(key string) Entry { return v.values.get(key) }

// From iterates over the entries whose keys are not before one.
func (v View) From(key string) iter.Seq[Entry] { return v.values.from(key) }

// With returns how many keys begin with a prefix.
func (v View) With(prefix string) int { return v.values.with(prefix) }

// Pieces returns in how many pieces of memory the entries are: With looks at each twice.
func (v View) Pieces() int { return len(v.values.pieces) }
