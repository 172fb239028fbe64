package committee

import (
	"context"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/memory"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// database is what a node has stored: all that survives its death. It is the store that tests and examples have, which cannot fail, and
// what was written to it, of which a backup is made.
type database struct {
	store     *memory.Store
	contract  string
	changes   []core.Change
	submitted map[ledger.Hash]bool // for the judge; backups have the same
}

func newDatabase(contract string) *database {
	return &database{store: memory.New(), contract: contract, submitted: map[ledger.Hash]bool{}}
}

// copied returns a backup.
func (d *database) copied() *database {
	c := newDatabase(d.contract)
	c.submitted = d.submitted
	for _, one := range d.changes {
		c.write(one)
	}
	return c
}

// write is one transaction.
func (d *database) write(c core.Change) []core.Twice {
	d.changes = append(d.changes, c)
	twice, _ := d.store.Write(context.Background(), []core.Change{c})
	return twice
}

// load returns what is stored, of intents those that are open.
func (d *database) load() core.Stored {
	stored, _ := d.store.Load(context.Background(), d.contract)
	return stored
}

// attempts returns the contents that are stored.
func (d *database) attempts(named []ledger.Hash) []wire.Whole {
	all, _ := d.store.Attempts(context.Background(), d.contract, named)
	return all
}

// find returns the intent with a key, nil if there is none.
func (d *database) find(key string) *sender.IntentRow {
	if found, is := d.keyed(key); is {
		return &sender.IntentRow{Sequence: found.Sequence, Key: found.Key, Payload: found.Payload, Deadline: found.Deadline}
	}
	return nil
}

func (d *database) keyed(key string) (sequencer.Found, bool) {
	found, is, _ := d.store.Find(context.Background(), d.contract, key)
	return found, is
}

// numbered returns the intent with a sequence; its Number is 0 if there is none.
func (d *database) numbered(s ledger.Sequence) sequencer.Found {
	all, _ := d.store.List(context.Background(), d.contract, sequencer.Filter{Sequence: s, Most: 1})
	if len(all) == 0 {
		return sequencer.Found{}
	}
	return all[0]
}
