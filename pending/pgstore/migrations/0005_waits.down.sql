CREATE OR REPLACE FUNCTION conch.pending_archive(chain text, account bytea, older interval, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    cutoff timestamptz := clock_timestamp() - older;
    nonces bigint[];
    ids    uuid[];
BEGIN
    FOR look IN 1..2 LOOP
        SELECT coalesce(array_agg(o.nonce), '{}'), coalesce(array_agg(o.intent) FILTER (WHERE o.intent IS NOT NULL), '{}') INTO nonces, ids
          FROM (SELECT t.nonce, t.intent, t.updated_at FROM conch.pending_transactions t
                 WHERE t.chain = pending_archive.chain AND t.account = pending_archive.account AND t.final
                   AND t.nonce < (SELECT max(nonce) FROM conch.pending_transactions x WHERE x.chain = pending_archive.chain AND x.account = pending_archive.account)
                 ORDER BY t.nonce LIMIT most) o WHERE o.updated_at < cutoff;
        ids := ids || ARRAY(SELECT i.id FROM (SELECT s.id, s.created_at FROM conch.intents s
                 WHERE s.chain = pending_archive.chain AND s.account = pending_archive.account AND s.slotless
                 ORDER BY s.seq LIMIT most) i WHERE i.created_at < cutoff);
        IF cardinality(nonces) + cardinality(ids) = 0 THEN
            RETURN 0;
        END IF;
        IF look = 1 THEN
            LOCK TABLE conch.intents IN SHARE ROW EXCLUSIVE MODE;
        END IF;
    END LOOP;
    WITH gone AS (DELETE FROM conch.pending_attempts a
         WHERE a.chain = pending_archive.chain AND a.account = pending_archive.account AND a.nonce = ANY (nonces) RETURNING a.*)
    INSERT INTO conch.archived_attempts (chain, account, nonce, n, hash, signed, fee_max, fee_tip, gas, filler, created_at)
    SELECT g.chain, g.account, g.nonce, g.n, g.hash, g.signed, g.fee_max, g.fee_tip, g.gas, g.filler, g.created_at FROM gone g;
    WITH gone AS (DELETE FROM conch.pending_transactions t
         WHERE t.chain = pending_archive.chain AND t.account = pending_archive.account AND t.nonce = ANY (nonces) RETURNING t.*)
    INSERT INTO conch.archived_transactions (chain, account, nonce, intent, hash, watched, state, block_hash, block_number, failed, final, since_block, creator, created_at, updated_at)
    SELECT g.chain, g.account, g.nonce, g.intent, g.hash, g.watched, g.state, g.block_hash, g.block_number, g.failed, g.final, g.since_block, g.creator, g.created_at, g.updated_at FROM gone g;
    WITH gone AS (DELETE FROM conch.intents i WHERE i.id = ANY (ids) RETURNING i.*)
    INSERT INTO conch.archived_intents (id, seq, chain, account, idempotency_key, to_account, value, data, gas, creator, created_at, nonce, fate, why, cancel)
    SELECT g.id, g.seq, g.chain, g.account, g.idempotency_key, g.to_account, g.value, g.data, g.gas, g.creator, g.created_at, g.nonce, g.fate, g.why, g.cancel FROM gone g;
    RETURN greatest(cardinality(nonces), cardinality(ids));
END $$;

DROP TABLE conch.pending_holds;
ALTER TABLE conch.pending_transactions DROP COLUMN witnesses, DROP COLUMN waits;
ALTER TABLE conch.archived_transactions DROP COLUMN witnesses, DROP COLUMN waits;
