package pgstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/sequencer/ledger"
)

// queueDispatches stores, notes and forgets what the node has dispatched. A row that replaces another comes last.
func (s *sum) queueDispatches(batch *pgx.Batch) {
	rows, noted, over := s.last()
	s.queueRows(batch, rows)
	if len(noted) > 0 {
		owners, sequences := named(noted)
		batch.Queue(`UPDATE conch.sequencer_dispatches d SET noted = true FROM `+intents+` WHERE d.contract = n.contract AND d.owner = n.owner AND d.sequence = n.sequence AND NOT d.noted`,
			s.contract, owners, sequences)
	}
	if len(over) > 0 {
		owners, sequences := named(over)
		batch.Queue(`DELETE FROM conch.sequencer_dispatches d USING `+intents+` WHERE d.contract = n.contract AND d.owner = n.owner AND d.sequence = n.sequence`,
			s.contract, owners, sequences)
	}
}

// intents is the table n of some intents of one contract.
const intents = `(SELECT $1::text AS contract, n.* FROM unnest($2::bytea[], $3::bytea[]) AS n(owner, sequence) OFFSET 0) n`

// hashes is the table n of some hashes of one contract.
const hashes = `(SELECT $1::text AS contract, n.* FROM pg_catalog.unnest($2::bytea[]) AS n(hash) OFFSET 0) n`

func named(all []ledger.Intent) (owners, sequences [][]byte) {
	for _, in := range all {
		owners, sequences = append(owners, []byte(in.Owner)), append(sequences, sequence(in.Sequence))
	}
	return owners, sequences
}

func (s *sum) queueRows(batch *pgx.Batch, rows []*dispatch) {
	if len(rows) == 0 {
		return
	}
	var owners, sequences, hashes, endorsements, coordinators, delegations, signatures [][]byte
	var until []int64
	var noted []bool
	for _, d := range rows {
		g := &d.row.Grant
		owners, sequences = append(owners, []byte(d.Owner)), append(sequences, sequence(d.Sequence))
		hashes, endorsements = append(hashes, g.Assembled[:]), append(endorsements, packEndorsements(d.row.Endorsements))
		coordinators, delegations = append(coordinators, []byte(g.Coordinator)), append(delegations, g.Delegation[:])
		signatures, until, noted = append(signatures, notNull(g.Signature)), append(until, int64(g.ValidUntil)), append(noted, d.noted)
	}
	batch.Queue(`
		INSERT INTO conch.sequencer_dispatches (contract, owner, sequence, assembled, endorsements, coordinator, delegation, signature, valid_until, noted)
		SELECT $1, n.owner, n.sequence, n.assembled, n.endorsements, n.coordinator, n.delegation, n.signature, n.until, n.noted
		  FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[], $10::boolean[])
		    WITH ORDINALITY AS n(owner, sequence, assembled, endorsements, coordinator, delegation, signature, until, noted, place)
		 ORDER BY n.place ON CONFLICT (contract, owner, sequence) DO UPDATE
		   SET place = excluded.place, assembled = excluded.assembled, endorsements = excluded.endorsements, coordinator = excluded.coordinator,
		       delegation = excluded.delegation, signature = excluded.signature, valid_until = excluded.valid_until, noted = excluded.noted,
		       created_at = excluded.created_at`,
		s.contract, owners, sequences, hashes, endorsements, coordinators, delegations, signatures, until, noted)
}

// queueBook stores what has become final of the states.
func (s *sum) queueBook(batch *pgx.Batch) {
	if s.final == nil {
		return
	}
	batch.Queue(`UPDATE conch.sequencer_contracts SET final = $2 WHERE contract = $1`, s.contract, int64(*s.final))
	s.queueStates(batch)
	lacks, heard := s.missing.split()
	if len(lacks) > 0 {
		var names, owners, sequences [][]byte
		var blocks []int64
		for _, m := range lacks {
			names, owners, sequences = append(names, m.Assembled[:]), append(owners, []byte(m.Owner)), append(sequences, sequence(m.Sequence))
			blocks = append(blocks, int64(m.Number))
		}
		batch.Queue(`
			INSERT INTO conch.sequencer_missing (contract, assembled, owner, sequence, block)
			SELECT $1, n.* FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[]) AS n
			    ON CONFLICT (contract, assembled) DO UPDATE SET owner = excluded.owner, sequence = excluded.sequence, block = excluded.block`,
			s.contract, names, owners, sequences, blocks)
	}
	if len(heard) > 0 {
		batch.Queue(`DELETE FROM conch.sequencer_missing d USING `+hashes+` WHERE d.contract = n.contract AND d.assembled = n.hash`, s.contract, list(heard))
	}
	early, late := s.early.split()
	if len(early) > 0 {
		var ids [][]byte
		for _, id := range early {
			ids = append(ids, id[:])
		}
		batch.Queue(`INSERT INTO conch.sequencer_early (contract, id) SELECT $1, n.* FROM pg_catalog.unnest($2::bytea[]) AS n ON CONFLICT DO NOTHING`, s.contract, ids)
	}
	if len(late) > 0 {
		batch.Queue(`DELETE FROM conch.sequencer_early d USING `+hashes+` WHERE d.contract = n.contract AND d.id = n.hash`, s.contract, list(late))
	}
}

func (s *sum) queueStates(batch *pgx.Batch) {
	added, removed := s.states.split()
	if len(added) > 0 {
		var ids, owners, sequences, hashes, salts, data [][]byte
		for _, state := range added {
			ids, owners, sequences = append(ids, state.ID[:]), append(owners, []byte(state.Creator.Owner)), append(sequences, sequence(state.Creator.Sequence))
			hashes, salts, data = append(hashes, state.Assembled[:]), append(salts, state.Salt[:]), append(data, notNull(state.Data))
		}
		batch.Queue(`
			INSERT INTO conch.sequencer_states (contract, id, owner, sequence, assembled, salt, data)
			SELECT $1, n.* FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[]) AS n ON CONFLICT DO NOTHING`,
			s.contract, ids, owners, sequences, hashes, salts, data)
	}
	if len(removed) > 0 {
		batch.Queue(`DELETE FROM conch.sequencer_states d USING `+hashes+` WHERE d.contract = n.contract AND d.id = n.hash`, s.contract, list(removed))
	}
}

// list returns names as an argument.
func list[T ~[32]byte](all []T) [][]byte {
	out := make([][]byte, len(all))
	for i := range all {
		out[i] = all[i][:]
	}
	return out
}
