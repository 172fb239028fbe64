-- What conch itself has sent from an account, for its private contracts, is of no use to anybody once it has long been final,
-- and its calls are large. Their keys, which no user can choose, begin with "conch:".
CREATE INDEX intents_own ON conch.intents (chain, account, seq) WHERE pg_catalog.starts_with(idempotency_key, 'conch:');
CREATE INDEX archived_intents_own ON conch.archived_intents (chain, account, seq) WHERE pg_catalog.starts_with(idempotency_key, 'conch:');

-- forget deletes the oldest of these intents, here and in the archive, that have ended longer ago than that: up to so many of
-- each, with their slots and attempts. As in pending_archive the account's newest slot stays, since the next nonce is counted
-- from it, and a program that cannot have the table soon gives up. It has its owner's rights, so that a node has no right to
-- delete what is open, or what its users have sent.
--
-- It takes the table before any row, in the order of pending_archive: neither waits for what the other one holds. Slots go
-- first: one whose end the chain has just taken back is found open, and stays with its intent.
CREATE FUNCTION conch.pending_forget(chain text, account bytea, older interval, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    cutoff timestamptz := clock_timestamp() - older;
    gone   bigint[];
    n      int;
    total  int;
BEGIN
    LOCK TABLE conch.intents IN ROW EXCLUSIVE MODE;
    WITH old AS MATERIALIZED (
        SELECT i.id, i.nonce FROM conch.intents i
         WHERE i.chain = pending_forget.chain AND i.account = pending_forget.account AND starts_with(i.idempotency_key, 'conch:')
         ORDER BY i.seq LIMIT most),
    slots AS (
        DELETE FROM conch.pending_transactions t USING old o
         WHERE t.chain = pending_forget.chain AND t.account = pending_forget.account AND t.nonce = o.nonce AND t.intent = o.id
           AND t.final AND t.updated_at < cutoff
           AND t.nonce < (SELECT max(x.nonce) FROM conch.pending_transactions x WHERE x.chain = pending_forget.chain AND x.account = pending_forget.account)
        RETURNING t.nonce)
    SELECT coalesce(array_agg(s.nonce), '{}') INTO gone FROM slots s;
    DELETE FROM conch.pending_attempts a
     WHERE a.chain = pending_forget.chain AND a.account = pending_forget.account AND a.nonce = ANY (gone);
    DELETE FROM conch.intents i
     WHERE i.id = ANY (ARRAY(
        SELECT o.id FROM (SELECT x.* FROM conch.intents x
                 WHERE x.chain = pending_forget.chain AND x.account = pending_forget.account AND starts_with(x.idempotency_key, 'conch:')
                 ORDER BY x.seq LIMIT most) o
         WHERE o.nonce = ANY (gone) OR o.slotless AND o.created_at < cutoff));
    GET DIAGNOSTICS total = ROW_COUNT;
    WITH old AS MATERIALIZED (
        SELECT i.id, i.nonce, i.created_at FROM conch.archived_intents i
         WHERE i.chain = pending_forget.chain AND i.account = pending_forget.account AND starts_with(i.idempotency_key, 'conch:')
         ORDER BY i.seq LIMIT most),
    slots AS (
        DELETE FROM conch.archived_transactions t USING old o
         WHERE t.chain = pending_forget.chain AND t.account = pending_forget.account AND t.nonce = o.nonce AND t.updated_at < cutoff
        RETURNING t.nonce),
    attempts AS (
        DELETE FROM conch.archived_attempts a USING slots s
         WHERE a.chain = pending_forget.chain AND a.account = pending_forget.account AND a.nonce = s.nonce)
    DELETE FROM conch.archived_intents i USING old o LEFT JOIN slots s ON s.nonce = o.nonce
     WHERE i.id = o.id AND (s.nonce IS NOT NULL OR o.nonce IS NULL AND o.created_at < cutoff);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN greatest(total, n);
END $$;
REVOKE ALL ON FUNCTION conch.pending_forget(text, bytea, interval, int) FROM PUBLIC;
