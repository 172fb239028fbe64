-- What is finished may be moved out of the way: the same rows in tables that nobody
-- writes to. Idempotency keys count there as well.

CREATE TABLE conch.archived_intents (LIKE conch.intents);
ALTER TABLE conch.archived_intents DROP COLUMN waits, DROP COLUMN cancelling,
    ADD PRIMARY KEY (id), ADD UNIQUE (chain, account, idempotency_key);
CREATE INDEX archived_intents_seq ON conch.archived_intents (seq);
CREATE TABLE conch.archived_transactions (LIKE conch.pending_transactions, PRIMARY KEY (chain, account, nonce));
CREATE TABLE conch.archived_attempts (LIKE conch.pending_attempts, PRIMARY KEY (chain, account, nonce, n));

-- Intents that ended without a slot.
ALTER TABLE conch.intents ADD COLUMN slotless boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate <> 'open') STORED;
CREATE INDEX intents_slotless ON conch.intents (chain, account, seq) WHERE slotless;

-- archive moves the oldest of an account's finished transactions, and of its intents
-- that ended without one, if they are older than that: at most so many of each. The
-- newest transaction stays, since the next nonce is counted from it. Nobody can accept
-- an intent meanwhile, who might find its key neither here nor there.
--
-- For that it locks the table: only if there is something to move, which it looks for
-- before, and again once nothing changes any more. Who waits for a table has all others
-- wait behind, and has a running vacuum cancelled after deadlock_timeout: it gives up before.
CREATE FUNCTION conch.pending_archive(chain text, account bytea, older interval, most int) RETURNS int
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
REVOKE ALL ON FUNCTION conch.pending_archive(text, bytea, interval, int) FROM PUBLIC;

-- given refuses slots for intents that are not here any more: a cancelled one may have
-- been moved since a leader read it, and what is moved no update finds.
CREATE FUNCTION conch.pending_given(given bigint, wanted bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF given <> wanted THEN
        RAISE EXCEPTION USING ERRCODE = 'CN013',
            MESSAGE = format('%s of %s intents that were to get a slot are in the archive, or nowhere', wanted - given, wanted);
    END IF;
END $$;
