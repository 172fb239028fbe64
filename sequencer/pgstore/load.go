package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// loading limits reading a contract.
const loading = 10 * time.Minute

// Load implements [sequencer.Store], with one snapshot of the database in one round trip. The rows are read as they come.
// What has ended is not looked at.
func (s *Store) Load(ctx context.Context, contract string) (stored core.Stored, err error) {
	ctx, cancel := context.WithTimeout(ctx, loading)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	batch.Queue(inOrder)
	queueLoadBook(&batch, contract, &stored.Book)
	at := map[ledger.Sequence]int{}
	batch.Queue(loadIntents, contract).Query(func(rows pgx.Rows) error {
		var in loaded
		_, err := pgx.ForEachRow(rows, in.columns(), func() error {
			at[sequenceOf(in.sequence)] = len(stored.Intents)
			stored.Intents = append(stored.Intents, in.read())
			return nil
		})
		return err
	})
	batch.Queue(loadGrants, contract).Query(func(rows pgx.Rows) error {
		var g granted
		_, err := pgx.ForEachRow(rows, g.columns(), func() error {
			row, err := g.read()
			if err != nil {
				return err
			}
			in := &stored.Intents[at[row.Sequence]]
			in.Grants = append(in.Grants, row)
			return nil
		})
		return err
	})
	batch.Queue(loadDispatches, contract).Query(func(rows pgx.Rows) error {
		var d dispatched
		_, err := pgx.ForEachRow(rows, d.columns(), func() error {
			row, err := d.read()
			stored.Rows = append(stored.Rows, row)
			return err
		})
		return err
	})
	batch.Queue(`COMMIT`)
	if err := s.db.pools.Writers.SendBatch(ctx, &batch).Close(); err != nil {
		return core.Stored{}, err
	}
	return stored, nil
}

// inOrder makes the planner read open rows by their index, one after the other, however many rows there are that have ended.
// The statements help: each looks for the rows that belong to a row by all columns of their key. Of a table that was never
// analysed the planner believes that a contract has one row, and would compare all of them with each.
const inOrder = `SELECT set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

const (
	loadIntents = `
		SELECT sequence, key, payload, deadline, failures, dispatched, over, given_up
		  FROM conch.sequencer_intents WHERE contract = $1 AND NOT ended ORDER BY place`
	loadGrants = `
		SELECT g.assembled, g.given_to, g.coordinator, g.delegation, g.incarnation, g.request, g.valid_until, g.needs, a.contents
		  FROM (SELECT contract, sequence, place FROM conch.sequencer_intents WHERE contract = $1 AND NOT ended ORDER BY place) i
		  CROSS JOIN LATERAL (SELECT * FROM conch.sequencer_grants WHERE contract = i.contract AND sequence = i.sequence OFFSET 0) g
		  LEFT JOIN LATERAL (SELECT contents FROM conch.sequencer_attempts WHERE contract = i.contract AND assembled = g.assembled OFFSET 0) a ON true
		 ORDER BY i.place, g.place`
	loadDispatches = `
		SELECT d.assembled, d.endorsements, d.coordinator, d.delegation, d.valid_until, d.signature, d.noted, a.contents
		  FROM conch.sequencer_dispatches d
		  LEFT JOIN LATERAL (SELECT contents FROM conch.sequencer_attempts WHERE contract = d.contract AND assembled = d.assembled OFFSET 0) a ON true
		 WHERE d.contract = $1 ORDER BY d.place`
)

// loaded is a row of loadIntents.
type loaded struct {
	sequence, key, payload, dispatched, over, givenUp []byte
	deadline                                          int64
	failures                                          int32
}

func (l *loaded) columns() []any {
	return []any{&l.sequence, &l.key, &l.payload, &l.deadline, &l.failures, &l.dispatched, &l.over, &l.givenUp}
}

func (l *loaded) read() sender.Loaded {
	return sender.Loaded{
		IntentRow: sender.IntentRow{Sequence: sequenceOf(l.sequence), Key: string(l.key), Payload: l.payload, Deadline: uint64(l.deadline)},
		Failures:  int(l.failures), Dispatched: hashOf(l.dispatched), Over: hashOf(l.over), GivenUp: string(l.givenUp),
	}
}

// granted is a row of loadGrants.
type granted struct {
	assembled, to, coordinator, delegation, incarnation, needs, contents []byte
	request, until                                                       int64
}

func (g *granted) columns() []any {
	return []any{&g.assembled, &g.to, &g.coordinator, &g.delegation, &g.incarnation, &g.request, &g.until, &g.needs, &g.contents}
}

func (g *granted) read() (row sender.GrantRow, err error) {
	if row.Whole, err = wire.DecodeWhole(g.contents); err != nil {
		return row, fmt.Errorf("the contents of attempt %v: %w", hashOf(g.assembled), err)
	}
	row.Needs, err = unpackNeeds(g.needs)
	row.Intent, row.Assembled, row.ValidUntil = row.Whole.Attempt.Intent, hashOf(g.assembled), uint64(g.until)
	row.To, row.Request.Number = ledger.Account(g.to), uint64(g.request)
	copy(row.Request.Incarnation[:], g.incarnation)
	row.Grant = ledger.Grant{Assembled: row.Assembled, Coordinator: ledger.Account(g.coordinator), Delegation: hashOf(g.delegation), ValidUntil: row.ValidUntil}
	return row, err
}

// dispatched is a row of loadDispatches.
type dispatched struct {
	assembled, endorsements, coordinator, delegation, signature, contents []byte
	until                                                                 int64
	noted                                                                 bool
}

func (d *dispatched) columns() []any {
	return []any{&d.assembled, &d.endorsements, &d.coordinator, &d.delegation, &d.until, &d.signature, &d.noted, &d.contents}
}

func (d *dispatched) read() (row coordinator.Row, err error) {
	if row.Whole, err = wire.DecodeWhole(d.contents); err != nil {
		return row, fmt.Errorf("the contents of attempt %v: %w", hashOf(d.assembled), err)
	}
	row.Noted = d.noted
	row.Endorsements, err = unpackEndorsements(d.endorsements)
	row.Grant = ledger.Grant{
		Assembled: hashOf(d.assembled), Coordinator: ledger.Account(d.coordinator), Delegation: hashOf(d.delegation),
		ValidUntil: uint64(d.until), Signature: d.signature,
	}
	return row, err
}

// queueLoadBook reads the book.
func queueLoadBook(batch *pgx.Batch, contract string, b *book.Snapshot) {
	batch.Queue(`SELECT final FROM conch.sequencer_contracts WHERE contract = $1`, contract).QueryRow(func(row pgx.Row) error {
		var final int64
		err := row.Scan(&final)
		if b.Number = uint64(final); errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	batch.Queue(`SELECT id, owner, sequence, assembled, salt, data FROM conch.sequencer_states WHERE contract = $1 ORDER BY id`, contract).Query(func(rows pgx.Rows) error {
		var id, owner, sequence, assembled, salt, data []byte
		_, err := pgx.ForEachRow(rows, []any{&id, &owner, &sequence, &assembled, &salt, &data}, func() error {
			s := domain.State{
				ID: ledger.StateID(hashOf(id)), Creator: ledger.Intent{Owner: ledger.Account(owner), Sequence: sequenceOf(sequence)},
				Assembled: hashOf(assembled), Secret: domain.Secret{Data: data},
			}
			copy(s.Salt[:], salt)
			b.States = append(b.States, s)
			return nil
		})
		return err
	})
	batch.Queue(`SELECT assembled, owner, sequence, block FROM conch.sequencer_missing WHERE contract = $1`, contract).Query(func(rows pgx.Rows) error {
		var assembled, owner, sequence []byte
		var block int64
		_, err := pgx.ForEachRow(rows, []any{&assembled, &owner, &sequence, &block}, func() error {
			b.Missing = append(b.Missing, book.Missing{
				Intent: ledger.Intent{Owner: ledger.Account(owner), Sequence: sequenceOf(sequence)}, Assembled: hashOf(assembled), Number: uint64(block),
			})
			return nil
		})
		slices.SortFunc(b.Missing, func(x, y book.Missing) int { // here, since large numbers are negative there
			return cmp.Or(cmp.Compare(x.Number, y.Number), slices.Compare(x.Assembled[:], y.Assembled[:]))
		})
		return err
	})
	batch.Queue(`SELECT id FROM conch.sequencer_early WHERE contract = $1 ORDER BY id`, contract).Query(func(rows pgx.Rows) error {
		var id []byte
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			b.Early = append(b.Early, ledger.StateID(hashOf(id)))
			return nil
		})
		return err
	})
}
