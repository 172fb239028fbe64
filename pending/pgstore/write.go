package pgstore

import (
	"context"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/internal/rules"
)

// Write implements [pending.Store], in one round trip and one transaction, fenced at its end.
func (s *Store) Write(ctx context.Context, t fence.Token, b pending.Batch) error {
	var batch pgx.Batch
	s.queue(&batch, t, b)
	pgfence.Queue(&batch, t)
	return translate(s.db.pools.Commit(ctx, &batch))
}

func (s *Store) queue(batch *pgx.Batch, t fence.Token, b pending.Batch) {
	batch.Queue(pg.Durable + byIndex)
	s.queueAccount(batch, t, b.Account, b.Number)
	s.queueSlots(batch, t, b)
	s.queueAttempts(batch, b)
	s.queueEnds(batch, b)
	s.queueHeld(batch, b)
	s.queueChanges(batch, t, b)
	s.queueFloor(batch, b)
	s.queueLife(batch, b)
	s.queueHold(batch, t, b)
}

// byIndex makes the planner fetch the rows of a batch one by one by their keys, instead of reading
// a whole table. The statements help: they give the account in every row of a batch and not as a
// constant. Of a table that was never analysed the planner believes that an account has one row,
// and would compare all its rows with the whole batch.
const byIndex = `, set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true)`

// queueAccount claims the account for the token's scope, and refuses a settled write.
func (s *Store) queueAccount(batch *pgx.Batch, t fence.Token, account chain.Account, number uint64) {
	batch.Queue(`SELECT conch.pending_claim($1, $2, $3, $4, $5)`, s.cfg.Chain, []byte(account), t.Scope, t.Epoch, int64(number))
}

// Settle implements [pending.Store]. Its update waits for a write that holds the lock on the
// account's row, and makes the row refuse earlier writes that come later.
func (s *Store) Settle(ctx context.Context, t fence.Token, account chain.Account, number uint64) error {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	s.queueAccount(&batch, t, account, number)
	batch.Queue(`UPDATE conch.pending_accounts SET epoch = $3, write = $4 WHERE chain = $1 AND account = $2`,
		s.cfg.Chain, []byte(account), t.Epoch, int64(number))
	pgfence.Queue(&batch, t)
	return translate(s.db.pools.Commit(ctx, &batch))
}

func (s *Store) queueSlots(batch *pgx.Batch, t fence.Token, b pending.Batch) {
	if len(b.New) == 0 {
		return
	}
	n, intended := len(b.New), 0
	nonces, since := make([]int64, 0, n), make([]int64, 0, n)
	intents, hashes := make([]pgtype.UUID, 0, n), make([][]byte, 0, n)
	for _, slot := range b.New {
		nonces = append(nonces, int64(slot.Index))
		since = append(since, int64(slot.Since))
		intents = append(intents, uuid(slot.Intent))
		if slot.Intent != nil {
			intended++
		}
		hashes = append(hashes, []byte(slot.Attempts[len(slot.Attempts)-1].Hash))
	}
	batch.Queue(`
		INSERT INTO conch.pending_transactions (chain, account, nonce, intent, hash, since_block, creator, version)
		SELECT $1, $2, n.nonce, n.intent, n.hash, n.since, $3, coalesce((SELECT i.version + 1 FROM conch.intents i WHERE i.id = n.intent), 1)
		  FROM unnest($4::bigint[], $5::uuid[], $6::bytea[], $7::bigint[]) AS n(nonce, intent, hash, since) ORDER BY n.nonce`,
		s.cfg.Chain, []byte(b.Account), t.Holder, nonces, intents, hashes, since)
	if intended == 0 {
		return // filling a gap does not show what else was lost
	}
	// An intent that no longer waits gets an invalid fate, so that the whole batch fails: nonces
	// must not have gaps. It may also have moved to the archive, which pending_given refuses.
	batch.Queue(`
		WITH given AS (
			UPDATE conch.intents i SET nonce = n.nonce, refusals = 0, held_until = NULL, stuck = false, version = i.version + 1, fate = CASE WHEN i.fate = 'open' AND i.nonce IS NULL THEN i.fate ELSE 'overtaken' END
			  FROM unnest($1::bigint[], $2::uuid[], $4::bytea[]) AS n(nonce, intent, hash) WHERE i.id = n.intent
			RETURNING i.chain, i.account, i.id, i.version, n.nonce, n.hash),
		told AS (
			INSERT INTO conch.pending_events (chain, account, intent, version, kind, nonce, hash)
			SELECT g.chain, g.account, g.id, g.version, 'nonce', g.nonce, g.hash FROM given g)
		SELECT conch.pending_given((SELECT count(*) FROM given), $3)`, nonces, intents, int64(intended), hashes)
	batch.Queue(`
		UPDATE conch.pending_accounts SET system_id = (conch.pending_history()).system_id, timeline = (conch.pending_history()).timeline
		 WHERE chain = $1 AND account = $2
		   AND (system_id, timeline) <> ((conch.pending_history()).system_id, (conch.pending_history()).timeline)`,
		s.cfg.Chain, []byte(b.Account))
}

// queueAttempts stores the attempts of new slots and the further attempts of old ones. The leader
// numbers them: a late write, after which another attempt was stored, finds its number taken and is
// undone, since its attempt may pay less.
func (s *Store) queueAttempts(batch *pgx.Batch, b pending.Batch) {
	slots := slices.Concat(b.New, b.Attempts)
	n := len(slots) // nearly always each has one
	nonces, numbers, gas := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	hashes, signed := make([][]byte, 0, n), make([][]byte, 0, n)
	most, tips := make([]pgtype.Numeric, 0, n), make([]pgtype.Numeric, 0, n)
	fillers := make([]bool, 0, n)
	var until []int64 // shorter than the others, and so NULL, on a chain whose attempts do not wear out
	var versions []string
	for _, slot := range slots {
		for i, a := range slot.Attempts {
			nonces = append(nonces, int64(slot.Index))
			numbers = append(numbers, int64(slot.Before+i+1))
			hashes = append(hashes, []byte(a.Hash))
			signed = append(signed, a.Bytes)
			most = append(most, numeric(a.Fee.Max))
			tips = append(tips, numeric(a.Fee.Tip))
			gas = append(gas, int64(a.Gas))
			fillers = append(fillers, a.Filler)
			if a.Until != 0 || a.Version != "" || len(until) > 0 {
				until = append(until, make([]int64, len(nonces)-len(until))...)
				versions = append(versions, make([]string, len(nonces)-len(versions))...)
				until[len(until)-1], versions[len(versions)-1] = int64(a.Until), a.Version
			}
		}
	}
	if len(nonces) == 0 {
		return
	}
	batch.Queue(`
		INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, fee_max, fee_tip, gas, filler, until, version)
		SELECT $1, $2, a.*
		  FROM unnest($3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::numeric[], $8::numeric[], $9::bigint[], $10::boolean[], $11::bigint[], $12::text[]) AS a`,
		s.cfg.Chain, []byte(b.Account), nonces, numbers, hashes, signed, most, tips, gas, fillers, until, versions)
	if len(b.Attempts) > 0 {
		batch.Queue(`
			UPDATE conch.pending_transactions t SET hash = a.hash, version = t.version + 1, updated_at = clock_timestamp()
			  FROM (SELECT DISTINCT ON (nonce) $1::text AS chain, $2::bytea AS account, nonce, hash FROM unnest($3::bigint[], $4::bytea[])
			          WITH ORDINALITY AS a(nonce, hash, place) ORDER BY nonce, place DESC OFFSET 0) a
			 WHERE t.chain = a.chain AND t.account = a.account AND t.nonce = a.nonce AND CASE WHEN t.block_hash IS NULL THEN t.hash <> a.hash ELSE false END`,
			s.cfg.Chain, []byte(b.Account), nonces, hashes)
	}
}

func (s *Store) queueEnds(batch *pgx.Batch, b pending.Batch) {
	for _, r := range b.Rejects {
		batch.Queue(`
			WITH ended AS (
				UPDATE conch.intents SET fate = 'rejected', why = $2, version = version + 1 WHERE id = $1 AND nonce IS NULL AND fate = 'open' RETURNING *)
			INSERT INTO conch.pending_events (chain, account, intent, version, kind, fate, why)
			SELECT chain, account, id, version, 'rejected', fate, why FROM ended`,
			uuid(&r.Intent), storable(r.Why))
	}
	for _, id := range b.Expired {
		batch.Queue(`UPDATE conch.intents SET expiring = true WHERE id = $1 AND nonce IS NOT NULL AND fate = 'open'`, uuid(&id))
		batch.Queue(`
			WITH ended AS (
				UPDATE conch.intents SET fate = 'expired', version = version + 1 WHERE id = $1 AND nonce IS NULL AND fate = 'open' RETURNING *)
			INSERT INTO conch.pending_events (chain, account, intent, version, kind, fate)
			SELECT chain, account, id, version, 'final', fate FROM ended`, uuid(&id))
	}
}

// storable makes a contract's reason, which may be long or no valid text, fit for the database. If the
// database refused it, the same write would fail for ever.
func storable(why string) string {
	const most = 2000
	if len(why) > most {
		why = why[:most] + "…"
	}
	return strings.ToValidUTF8(strings.ReplaceAll(why, "\x00", ""), "\uFFFD")
}

// queueChanges stores new states of slots, and the fates of their intents, except for slots that a
// later write has changed. The reason for a refused call is stored as soon as it is known: another leader may see the
// filler become final.
//
// Hundreds of slots with consecutive nonces get into one block. The server finds and changes the slots of a span
// together: to look each up by its key, and to take apart what is sent for each, took half of its time for a block.
func (s *Store) queueChanges(batch *pgx.Batch, t fence.Token, b pending.Batch) {
	for changes := b.Changes; len(changes) > 0; {
		var of *spans
		of, changes = newSpans(changes)
		batch.Queue(changesSQL, s.cfg.Chain, []byte(b.Account), t.Epoch, int64(b.Number), rules.NoWords,
			of.firsts, of.lasts, of.kinds, of.offsets, of.lengths, notNull(of.hashes),
			of.states, of.blocks, of.numbers, of.effects, of.fates, of.whys, of.waits, of.witnesses, of.others)
	}
}

// The slots of a span are read before the update, one by one, if their intents have to be known as they were: Again
// detaches them, and Open takes back the end of a slot that was final.
//
// The CASE hides from the planner that hardly any row is of an earlier term (in queueAttempts, that
// hardly any is in no block): it would read those rows first, and compare each with the whole
// batch.
//
// Which event a change is depends on what the slot was before, which only the update sees: so it is a column. What becomes of an intent
// that is detached depends on it, so it is told by the second update; all others are told by the first, without their intents.
//
// The condition on m alone follows from the one after it. The server checks it before it reads an
// intent: a slot that gets into a block changes none.
const changesSQL = `
		WITH spans AS MATERIALIZED (
			SELECT r.*, r.fate = 'again' OR r.fate = 'open' AND EXISTS (SELECT FROM conch.pending_transactions
			                    WHERE chain = $1 AND account = $2 AND nonce BETWEEN r.first AND r.last AND CASE WHEN final THEN true ELSE false END) AS looks
			  FROM (SELECT n.*, ($12::text[])[n.kind] AS state, ($13::bytea[])[n.kind] AS block, ($14::bigint[])[n.kind] AS number,
			               ($15::text[])[n.kind] AS effect, ($16::text[])[n.kind] AS fate, ($17::text[])[n.kind] AS why,
			               ($18::text[])[n.kind] AS waits, ($19::text[])[n.kind] AS witness, ($20::text[])[n.kind] AS other
			          FROM unnest($6::bigint[], $7::bigint[], $8::int[], $9::int[], $10::int[]) AS n(first, last, kind, place, length) OFFSET 0) r),
		moved AS (
			UPDATE conch.pending_transactions t
			   SET hash = substring($11::bytea FROM c.place + c.length * (t.nonce - c.first)::int + 1 FOR c.length),
			       state = c.state, block_hash = c.block, block_number = CASE WHEN c.block IS NOT NULL THEN c.number END,
			       effect = CASE WHEN c.block IS NOT NULL THEN c.effect END, final = c.state IN ('finalized', 'usurped'), watched = c.state NOT IN ('finalized', 'usurped'),
			       waits = c.waits, witnesses = CASE WHEN c.witness <> '' THEN ARRAY[c.witness, c.other] END,
			       intent = CASE WHEN c.fate = 'again' THEN NULL ELSE t.intent END, updated_at = clock_timestamp(), epoch = $3, write = $4, version = t.version + 1,
			       stuck = t.stuck AND c.block IS NULL OR c.state = 'finality_timeout',
			       told = CASE WHEN t.intent IS NULL THEN ''
			                   WHEN c.fate IN ('open', 'again') AND t.final THEN 'rewound'
			                   WHEN c.fate NOT IN ('open', 'again') THEN
			                       CASE WHEN t.final AND t.block_hash IS NOT DISTINCT FROM c.block AND t.effect IS NOT DISTINCT FROM CASE WHEN c.block IS NOT NULL THEN c.effect END AND t.state = c.state THEN ''
			                            WHEN c.fate = 'rejected' THEN c.fate ELSE 'final' END
			                   WHEN t.block_hash IS NOT NULL AND (c.block IS NULL OR c.fate = 'again') THEN 'retracted'
			                   WHEN c.fate = 'open' AND c.block IS DISTINCT FROM t.block_hash THEN 'in_block'
			                   WHEN c.state = 'finality_timeout' AND t.state <> c.state THEN 'waiting' ELSE '' END
			  FROM (SELECT $1::text AS chain, $2::bytea AS account, r.*, r.first AS low, r.last AS high, NULL::uuid AS intent, false AS final
			          FROM spans r WHERE NOT looks
			         UNION ALL
			        SELECT $1, $2, r.*, was.nonce, was.nonce, was.intent, was.final
			          FROM spans r CROSS JOIN LATERAL (SELECT nonce, intent, final FROM conch.pending_transactions
			                         WHERE chain = $1 AND account = $2 AND nonce BETWEEN r.first AND r.last OFFSET 0) was WHERE looks OFFSET 0) c
			 WHERE t.chain = c.chain AND t.account = c.account AND t.nonce BETWEEN c.low AND c.high
			   AND CASE WHEN (t.epoch, t.write) < ($3, $4) THEN true ELSE false END
			RETURNING t.nonce, t.version, t.told, c.fate, CASE WHEN c.fate = 'again' THEN c.intent ELSE t.intent END AS intent, c.final, c.why,
			          t.hash, t.block_hash, t.block_number, t.effect),
		fated AS (
		UPDATE conch.intents i
		   SET fate = CASE WHEN m.fate <> 'again' THEN m.fate WHEN i.cancel THEN 'cancelled' ELSE 'open' END,
		       nonce = CASE WHEN m.fate = 'again' THEN NULL ELSE i.nonce END,
		       version = CASE WHEN m.fate = 'again' THEN m.version ELSE i.version END,
		       why = CASE WHEN m.fate NOT IN ('open', 'rejected') THEN '' WHEN m.why <> '' THEN m.why
		                  WHEN i.why = '' AND m.fate = 'rejected' THEN $5 ELSE i.why END
		  FROM moved m WHERE i.id = m.intent AND i.nonce = m.nonce AND (m.fate <> 'open' OR m.final OR m.why <> '')
		   AND (i.fate <> m.fate AND (m.fate <> 'open' OR m.final) OR m.fate = 'open' AND m.why <> '' AND i.why <> m.why)
		RETURNING i.id, m.version, m.fate AS said, i.fate, m.told)
		INSERT INTO conch.pending_events (chain, account, intent, version, kind, fate, nonce, hash, block_hash, block_number, effect, why)
		SELECT $1, $2, m.intent, m.version, m.told, m.fate, m.nonce, m.hash, m.block_hash, m.block_number, m.effect,
		       CASE WHEN m.fate <> 'rejected' THEN '' WHEN m.why <> '' THEN m.why
		            ELSE coalesce(nullif((SELECT w.why FROM conch.intents w WHERE w.id = m.intent), ''), $5) END
		  FROM moved m WHERE m.told <> '' AND m.fate <> 'again'
		 UNION ALL
		SELECT $1, $2, f.id, f.version, CASE WHEN f.fate = 'cancelled' THEN 'final' ELSE f.told END, f.fate, NULL, NULL, NULL, NULL, NULL, ''
		  FROM fated f WHERE f.said = 'again' AND (f.told <> '' OR f.fate = 'cancelled')`

// queueFloor moves the nonce from which Load looks for slots that are not final, after the states have changed: down to
// the lowest that has been written as not final, or up.
func (s *Store) queueFloor(batch *pgx.Batch, b pending.Batch) {
	if len(b.Changes) == 0 {
		return
	}
	lowest := uint64(math.MaxInt64)
	for _, c := range b.Changes {
		if c.Status != pending.Finalized && c.Status != pending.Usurped {
			lowest = min(lowest, c.Index)
		}
	}
	batch.Queue(`SELECT conch.pending_floor($1, $2, $3)`, s.cfg.Chain, []byte(b.Account), int64(lowest))
}

func uuid(id *pending.ID) pgtype.UUID {
	if id == nil {
		return pgtype.UUID{}
	}
	return pgtype.UUID{Bytes: *id, Valid: true}
}

func numeric(n *big.Int) pgtype.Numeric {
	if n == nil {
		return pgtype.Numeric{}
	}
	return pgtype.Numeric{Int: n, Valid: true}
}
