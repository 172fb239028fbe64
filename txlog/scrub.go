package txlog

import "slices"

// A scrub computes the hash of a state anew, from all of it: a value that memory has lost shows there, if no diff has touched it.
// A state that is Gradual is read as it was at the scrub's entry while the next entries are applied, so that none of them waits
// for all of it. If it is not what the diffs made, one of those entries, or ReadOn if none comes, finds the copy to be spoiled.

// underway is a reading of the state at an index.
type underway struct {
	Reading

	want  Hash
	index uint64
	photo *Photo // nil: a scrub
}

// Photo is a snapshot of a copy. It never changes.
type Photo struct {
	Of    Record // the last one in it
	head  []byte
	state func() []byte
}

// Bytes returns the photo as bytes, which may be many: it can be left to another goroutine.
func (p Photo) Bytes() []byte { return withState(p.head, p.state()) }

// scrubbed begins a scrub if an entry is one at which every node scrubs.
func (c *Copy) scrubbed(e *Entry) error {
	if e.Kind != Scrubbed {
		return nil
	}
	of, is := c.state.(Gradual)
	if !is {
		return c.scrub()
	}
	if err := c.scrubRest(); err != nil {
		return err
	}
	if err := c.read(1); err != nil { // those of the scrub before
		return err
	}
	c.readings = append(c.readings, &underway{Reading: of.Read(false), want: c.state.Hash(), index: e.Index})
	return nil
}

// readOn reads a part of the state for each reading: all is read when half of the entries to the next scrub are applied.
func (c *Copy) readOn() error {
	if len(c.readings) == 0 {
		return nil
	}
	return c.read(max(1, c.genesis.Scrub/2))
}

// read reads one of so many parts for each reading.
func (c *Copy) read(parts uint64) error {
	var rest []*underway
	for _, r := range c.readings {
		switch {
		case !r.Next(parts):
			rest = append(rest, r)
		case r.Hash() != r.want:
			return c.spoil(fault(ErrState, "at entry %d its content had the hash %s, and the diffs made %s", r.index, r.Hash().Short(), r.want.Short()))
		case r.photo != nil:
			c.photo, r.photo.state = r.photo, r.Snapshot
		}
	}
	c.readings = rest
	return nil
}

// ReadOn reads a part of what is being read, as an entry does: a photo becomes whole, and a scrub ends, although few entries come. The
// error is ErrSpoiled: the copy is to be made anew.
func (c *Copy) ReadOn() error {
	if c.spoiled != nil {
		return fault(ErrSpoiled, "%w", c.spoiled)
	}
	return c.readOn()
}

// Take begins to take a photo of the copy as it is now, which the scrub of this entry is then. Taken has it when it is whole:
// after some more entries or calls of ReadOn, and at once if the state is small, or not Gradual.
func (c *Copy) Take() {
	of, is := c.state.(Gradual)
	if !is {
		state := c.state.Snapshot()
		c.photo = &Photo{Of: c.last, head: c.head(), state: func() []byte { return state }}
		return
	}
	rest := slices.DeleteFunc(c.readings, func(r *underway) bool { return r.photo != nil || r.index == c.at.Index })
	c.readings = append(rest, &underway{Reading: of.Read(true), want: c.state.Hash(), index: c.at.Index, photo: &Photo{Of: c.last, head: c.head()}})
	_ = c.readOn() // after an error the copy is spoiled, and says so
}

// Taken returns a photo that is whole, once.
func (c *Copy) Taken() (p Photo, is bool) {
	if c.photo == nil {
		return Photo{}, false
	}
	p, c.photo = *c.photo, nil
	return p, true
}

// scrub computes the copy's hash anew, at once.
func (c *Copy) scrub() error {
	hash, err := c.content()
	if err != nil {
		return c.spoil(err)
	}
	if hash != c.state.Hash() {
		return c.spoil(fault(ErrState, "its content has the hash %s, and the diffs made %s", hash.Short(), c.state.Hash().Short()))
	}
	return c.scrubRest()
}

// content returns the hash of what the state has.
func (c *Copy) content() (Hash, error) {
	if of, is := c.state.(Gradual); is {
		r := of.Read(false)
		for done := false; !done; {
			done = r.Next(1)
		}
		return r.Hash(), nil
	}
	fresh := c.make()
	err := fresh.Restore(c.state.Snapshot())
	return fresh.Hash(), err
}

// scrubRest looks at the results and the effects, of which there are few.
func (c *Copy) scrubRest() error {
	kept, waiting := newQueue(c.kept.gone), newQueue(c.waiting.gone)
	for _, of := range c.order {
		kept.add(c.sumOf(of))
	}
	for i := range c.effects {
		waiting.add(c.effects[i].sum())
	}
	if kept != c.kept || waiting != c.waiting || len(c.results) != len(c.order) {
		return c.spoil(fault(ErrState, "its results and effects are not those of the entries"))
	}
	return nil
}

// Scrub computes the hash of state, results and effects anew. If it is not the one that the entries made, the copy is spoiled.
func (c *Copy) Scrub() error {
	if c.spoiled != nil {
		return fault(ErrSpoiled, "%w", c.spoiled)
	}
	return c.scrub()
}

func (c *Copy) spoil(why error) error {
	c.spoiled = why
	return fault(ErrSpoiled, "%w", why)
}
