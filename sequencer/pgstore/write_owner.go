package pgstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/ledger"
)

// queueIntents stores intents in their order. Of those with a key that has a row, and of those that are stored already,
// nothing changes; then the first are found by having no row.
func (s *sum) queueIntents(batch *pgx.Batch, twice *[]core.Twice) {
	if len(s.intents) == 0 {
		return
	}
	var sequences, keys, payloads [][]byte
	var deadlines []int64
	for _, row := range s.intents {
		sequences, keys = append(sequences, sequence(row.Sequence)), append(keys, []byte(row.Key))
		payloads, deadlines = append(payloads, notNull(row.Payload)), append(deadlines, int64(row.Deadline))
	}
	batch.Queue(`
		INSERT INTO conch.sequencer_intents (contract, sequence, key, payload, deadline)
		SELECT $1, n.sequence, n.key, n.payload, n.deadline
		  FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[]) WITH ORDINALITY AS n(sequence, key, payload, deadline, place)
		 ORDER BY n.place ON CONFLICT DO NOTHING`, s.contract, sequences, keys, payloads, deadlines)
	batch.Queue(`
		SELECT n.sequence FROM pg_catalog.unnest($2::bytea[]) WITH ORDINALITY AS n(sequence, place)
		 WHERE (SELECT true FROM conch.sequencer_intents i WHERE i.contract = $1 AND i.sequence BETWEEN n.sequence AND n.sequence ORDER BY i.sequence LIMIT 1) IS NULL
		 ORDER BY n.place`,
		s.contract, sequences).Query(func(rows pgx.Rows) error {
		var second []byte
		_, err := pgx.ForEachRow(rows, []any{&second}, func() error {
			*twice = append(*twice, core.Twice{Contract: s.contract, Sequence: sequenceOf(second)})
			return nil
		})
		return err
	})
}

// queueGrants stores grants that are not there, in their order.
func (s *sum) queueGrants(batch *pgx.Batch) {
	if len(s.grants) == 0 {
		return
	}
	var sequences, names, to, coordinators, delegations, incarnations, needs [][]byte
	var until, requests []int64
	for _, g := range s.grants {
		sequences, names, to = append(sequences, sequence(g.Sequence)), append(names, g.Grant.Assembled[:]), append(to, []byte(g.To))
		coordinators, delegations = append(coordinators, []byte(g.Grant.Coordinator)), append(delegations, g.Grant.Delegation[:])
		incarnations, requests = append(incarnations, g.Request.Incarnation[:]), append(requests, int64(g.Request.Number))
		until, needs = append(until, int64(g.Grant.ValidUntil)), append(needs, packNeeds(g.Needs))
	}
	batch.Queue(`
		INSERT INTO conch.sequencer_grants (contract, sequence, assembled, given_to, coordinator, delegation, incarnation, needs, valid_until, request)
		SELECT $1, n.sequence, n.assembled, n.given_to, n.coordinator, n.delegation, n.incarnation, n.needs, n.until, n.request
		  FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[], $10::bigint[])
		    WITH ORDINALITY AS n(sequence, assembled, given_to, coordinator, delegation, incarnation, needs, until, request, place)
		 WHERE (SELECT true FROM conch.sequencer_grants g WHERE g.contract = $1 AND g.sequence = n.sequence
		           AND g.assembled = n.assembled AND g.incarnation = n.incarnation AND g.request = n.request LIMIT 1) IS NULL
		 ORDER BY n.place`,
		s.contract, sequences, names, to, coordinators, delegations, incarnations, needs, until, requests)
}

// queueEndings changes rows of intents: marks add up, and a result ends one.
func (s *sum) queueEndings(batch *pgx.Batch) {
	if len(s.endings) == 0 {
		return
	}
	var sequences, dispatched, over, givenUp, landed, why [][]byte
	var failures []int32
	var ended, confirmed []bool
	var blocks []int64
	for _, e := range s.endings {
		var r ledger.Result
		if e.result != nil {
			r = *e.result
		}
		var reason []byte
		if e.GivenUp != "" {
			reason = []byte(e.GivenUp)
		}
		sequences, failures = append(sequences, sequence(e.Sequence)), append(failures, int32(e.Failures))
		dispatched, over, givenUp = append(dispatched, hash(e.Dispatched)), append(over, hash(e.Over)), append(givenUp, reason)
		ended, confirmed, landed = append(ended, e.result != nil), append(confirmed, r.Confirmed), append(landed, hash(r.Assembled))
		blocks, why = append(blocks, int64(r.Block)), append(why, []byte(r.Why))
	}
	batch.Queue(endingsSQL, s.contract, sequences, failures, dispatched, over, givenUp, ended, confirmed, landed, blocks, why)
}

// endingsSQL finds each row by the primary key. While a table is nearly empty the planner believes that any index that begins
// with the contract is as good, and the server keeps such a plan: with each row of a write it would read the whole table.
// Only the primary key has the order that is asked for here. Writes of a node wait for each other, so that a row is where it
// was found.
const endingsSQL = `
		UPDATE conch.sequencer_intents i
		   SET failures = CASE WHEN n.failures <> 0 THEN n.failures ELSE i.failures END, dispatched = coalesce(n.dispatched, i.dispatched),
		       over = coalesce(n.over, i.over), given_up = coalesce(n.given_up, i.given_up), ended = i.ended OR n.ended,
		       ended_at = CASE WHEN n.ended THEN coalesce(i.ended_at, clock_timestamp()) ELSE i.ended_at END,
		       confirmed = CASE WHEN n.ended THEN n.confirmed ELSE i.confirmed END, landed = CASE WHEN n.ended THEN n.landed ELSE i.landed END,
		       block = CASE WHEN n.ended THEN n.block ELSE i.block END, why = CASE WHEN n.ended THEN n.why ELSE i.why END
		  FROM (SELECT n.*, (SELECT o.ctid FROM conch.sequencer_intents o WHERE o.contract = $1 AND o.sequence BETWEEN n.sequence AND n.sequence
		                      ORDER BY o.sequence LIMIT 1) AS at
		          FROM unnest($2::bytea[], $3::int[], $4::bytea[], $5::bytea[], $6::bytea[], $7::boolean[], $8::boolean[],
		               $9::bytea[], $10::bigint[], $11::bytea[]) AS n(sequence, failures, dispatched, over, given_up, ended, confirmed, landed, block, why) OFFSET 0) n
		 WHERE i.ctid = n.at`
