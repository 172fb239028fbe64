package sender

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/sequencer/ledger"
)

// disk is what is committed.
type disk struct {
	open  map[ledger.Sequence]*Loaded
	order []ledger.Sequence
	ended map[ledger.Sequence]Result
}

func (d *disk) clone() disk {
	c := disk{maps.Clone(d.open), slices.Clone(d.order), maps.Clone(d.ended)}
	for s, l := range c.open {
		copied := *l
		copied.Grants = slices.Clone(l.Grants)
		c.open[s] = &copied
	}
	return c
}

func newDisk() disk {
	return disk{open: map[ledger.Sequence]*Loaded{}, ended: map[ledger.Sequence]Result{}}
}

// write carries out a Store.
func (d *disk) write(s Store) {
	for _, row := range s.Intents {
		d.open[row.Sequence] = &Loaded{IntentRow: row}
		d.order = append(d.order, row.Sequence)
	}
	for _, g := range s.Grants {
		if l := d.open[g.Sequence]; l != nil {
			l.Grants = append(l.Grants, g)
		}
	}
	for _, k := range s.Marks {
		l := d.open[k.Sequence]
		if l == nil {
			continue
		}
		l.Failures = max(l.Failures, k.Failures)
		if k.GivenUp != "" {
			l.GivenUp = k.GivenUp
		}
		if k.Dispatched != (ledger.Hash{}) {
			l.Dispatched = k.Dispatched
		}
		if k.Over != (ledger.Hash{}) {
			l.Over = k.Over
		}
	}
	for _, r := range s.Results {
		delete(d.open, r.Sequence)
		d.ended[r.Sequence] = r
	}
}

// loaded returns the open intents, in the order of submission.
func (d *disk) loaded() (all []Loaded) {
	for _, s := range d.order {
		if l := d.open[s]; l != nil {
			all = append(all, *l)
		}
	}
	return all
}
