package pgstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/sequencer/internal/wire"
)

// queueContents stores contents that are not there, and notes since when nobody needs some. It comes before the dispatches are
// changed.
func (s *sum) queueContents(batch *pgx.Batch) error {
	s.queueLoose(batch)
	if err := s.queueKept(batch); err != nil {
		return err
	}
	s.queueDone(batch)
	return nil
}

// queueLoose notes that the node no longer waits for what it has dispatched. If it lands after all it is needed again.
func (s *sum) queueLoose(batch *pgx.Batch) {
	rows, _, over := s.last()
	for _, d := range rows {
		over = append(over, d.Intent)
	}
	if len(over) == 0 {
		return
	}
	owners, sequences := named(over)
	batch.Queue(`
		UPDATE conch.sequencer_attempts a SET done_at = clock_timestamp()
		  FROM (SELECT d.contract, d.assembled FROM `+intents+` CROSS JOIN LATERAL
		               (SELECT contract, assembled FROM conch.sequencer_dispatches
		                 WHERE contract = n.contract AND owner = n.owner AND sequence = n.sequence OFFSET 0) d OFFSET 0) d
		 WHERE a.contract = d.contract AND a.assembled = d.assembled AND NOT a.landed`, s.contract, owners, sequences)
}

// queueKept stores what somebody may need.
func (s *sum) queueKept(batch *pgx.Batch) error {
	var names, contents, taken [][]byte
	var landed []bool
	for _, f := range s.contents {
		if f.whole == nil {
			continue
		}
		bytes, err := wire.EncodeWhole(*f.whole)
		if err != nil {
			return err
		}
		names, contents, landed = append(names, f.assembled[:]), append(contents, bytes), append(landed, f.landed)
		if f.landed {
			taken = append(taken, f.assembled[:])
		}
	}
	if len(names) == 0 {
		return nil
	}
	batch.Queue(`
		INSERT INTO conch.sequencer_attempts (contract, assembled, contents, landed)
		SELECT $1, n.* FROM unnest($2::bytea[], $3::bytea[], $4::boolean[]) AS n ON CONFLICT DO NOTHING`, s.contract, names, contents, landed)
	if len(taken) > 0 {
		batch.Queue(`UPDATE conch.sequencer_attempts a SET landed = true, done_at = NULL FROM `+hashes+`
			 WHERE a.contract = n.contract AND a.assembled = n.hash AND (NOT a.landed OR a.done_at IS NOT NULL)`, s.contract, taken)
	}
	return nil
}

// queueDone notes since when nobody needs contents.
func (s *sum) queueDone(batch *pgx.Batch) {
	var names [][]byte
	var undone, unlanded []bool
	for _, f := range s.contents {
		if f.done >= loose {
			names, undone, unlanded = append(names, f.assembled[:]), append(undone, f.undone), append(unlanded, f.done == loose)
		}
	}
	if len(names) == 0 {
		return
	}
	batch.Queue(`
		UPDATE conch.sequencer_attempts a SET done_at = clock_timestamp(), landed = a.landed AND NOT n.undone
		  FROM (SELECT $1::text AS contract, n.* FROM unnest($2::bytea[], $3::boolean[], $4::boolean[]) AS n(hash, undone, unlanded) OFFSET 0) n
		 WHERE a.contract = n.contract AND a.assembled = n.hash AND NOT (n.unlanded AND a.landed)`, s.contract, names, undone, unlanded)
}
