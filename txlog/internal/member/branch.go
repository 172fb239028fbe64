package member

import "github.com/conchhq/conch/txlog"

// branch is a copy that has come further than base, by records that may never be committed.
type branch struct {
	copied *txlog.Copy    // nil: it is made when it is needed
	line   []txlog.Record // what it has applied after base
	size   int            // of them, in bytes
}

// align brings the branch to base and the records of want, which follow base. After an error it is empty.
func (b *branch) align(base *txlog.Copy, makeState func() txlog.State, want []txlog.Record) error {
	if b.copied == nil || !begins(want, b.line) {
		// From a snapshot, so that a state whose hash is not that of its content is found.
		copied, err := txlog.Restore(base.Snapshot(), makeState)
		*b = branch{copied: copied}
		if err != nil {
			*b = branch{}
			return err
		}
	}
	return b.apply(want[len(b.line):])
}

// apply applies records that follow the branch. After an error it is empty.
func (b *branch) apply(more []txlog.Record) error {
	for i := range more {
		if err := b.copied.Apply(more[i]); err != nil {
			*b = branch{}
			return err
		}
		b.extend(more[i])
	}
	return nil
}

// extends returns those of some records that follow the branch, if all that it has after its first ones are the records
// before them. It is what align finds too, without a slice of everything that is in flight.
func (b *branch) extends(many uint64, records []txlog.Record) (more []txlog.Record, is bool) {
	rest := b.line[many:]
	if !begins(records, rest) {
		return nil, false
	}
	return records[len(rest):], true
}

func (b *branch) extend(r txlog.Record) {
	b.line = append(b.line, r)
	b.size += len(r.Raw())
}

// follow keeps the branch in step with base, to which a record was applied. It is empty if that is another one than the
// branch has.
func (b *branch) follow(r txlog.Record) {
	switch {
	case b.copied == nil:
	case len(b.line) > 0 && b.line[0].Hash() == r.Hash():
		b.line[0] = txlog.Record{}
		b.line = b.line[1:]
		b.size -= len(r.Raw())
	case b.copied.Apply(r) != nil:
		*b = branch{}
	}
}

// before returns the first records of the branch up to the one with a hash, if there are so many.
func (b *branch) before(many uint64, last txlog.Hash) ([]txlog.Record, bool) {
	if b.copied == nil || many > uint64(len(b.line)) || many > 0 && b.line[many-1].Hash() != last {
		return nil, false
	}
	return b.line[:many], true
}

// begins reports whether some records are the first ones of others.
func begins(all, first []txlog.Record) bool {
	if len(first) > len(all) {
		return false
	}
	for i := range first {
		if first[i].Hash() != all[i].Hash() {
			return false
		}
	}
	return true
}
