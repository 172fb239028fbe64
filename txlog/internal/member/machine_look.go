package member

import (
	"fmt"

	"github.com/conchhq/conch/txlog"
)

// Look returns why records must not be stored: by this member's memory the state comes out otherwise, or they do not
// follow. They are new to its disk, and replace what is there from the first one's index on. The authority calls it before
// it stores what another leader sends (look-before-storing); it may call it for what follows before Stored was told.
// Nothing that can be observed changes by it.
func (m *Machine) Look(records []txlog.Record) error {
	err := m.look(records)
	if err != nil {
		m.doubt.looked = err
	}
	return err
}

func (m *Machine) look(records []txlog.Record) error {
	if m.doubt.spoiled {
		return fmt.Errorf("%w, and is not made anew yet", txlog.ErrSpoiled)
	}
	at := m.base.Position()
	for len(records) > 0 && records[0].Index <= at.Index {
		if records[0].Index == at.Index && records[0].Hash() != at.Hash {
			return fmt.Errorf("%w: entry %d is committed, and another one", txlog.ErrChain, at.Index)
		}
		records = records[1:]
	}
	if len(records) == 0 {
		return nil
	}
	view := &m.ahead
	if m.leading {
		view = &m.peek // another one leads, and this member does not know yet: what it has executed stays as it is
	}
	many := records[0].Index - at.Index - 1
	before, looked := view.before(many, records[0].Prev)
	if looked {
		if more, is := view.extends(many, records); is {
			return view.apply(more)
		}
	} else {
		if many > uint64(len(m.tail)) {
			return fmt.Errorf("%w: entry %d, and the last one here is %d", txlog.ErrChain, records[0].Index, at.Index+uint64(len(m.tail)))
		}
		before = m.tail[:many]
	}
	return view.align(m.base, m.cfg.New, append(append([]txlog.Record(nil), before...), records...))
}
