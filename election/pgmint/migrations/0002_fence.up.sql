-- The history of the database. Both functions are declared immutable, so that each plan keeps their
-- value. That is safe: a server has one system identifier, and its timeline changes only at the end
-- of a recovery, before which timeline() fails. A plan dies with its session, and a session with its
-- server. Never build an index on them.
CREATE FUNCTION conch.system_id() RETURNS bigint LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT system_identifier FROM pg_control_system();
END;
CREATE FUNCTION conch.timeline() RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;

-- The fence refuses a stale token inside the caller's own transaction. Call it as the last statement
-- before COMMIT:
--
--     BEGIN;
--     INSERT INTO payments ...;
--     SELECT conch.fence('payments', 7, '...term...');
--     COMMIT;
--
-- It raises CN001 if that term is not the current one. Once it has returned, no other term can be
-- minted for the scope until this transaction ends, since the mint takes the same lock exclusively.
-- Never call it inside a savepoint (a rollback to it drops the lock), never swallow CN001, never
-- PREPARE TRANSACTION after it. In a trigger, use only a deferred constraint trigger.
--
-- Every transaction of a service calls it, so it is written for speed. SET search_path would cost as
-- much as all the rest, so every name and operator has its schema, and none depends on the caller's
-- path. An assignment takes the lock, since PERFORM would start the executor. The rest is one query,
-- since PL/pgSQL prepares each of its expressions anew in each transaction.
CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
DECLARE
    locked boolean;
    lease  integer;
    bound  pg_catalog.text;
BEGIN
    -- Lock before reading: otherwise the row could be replaced between the read and the commit.
    locked := pg_catalog.pg_advisory_xact_lock_shared(conch.fence_key(fence.scope)) IS NOT NULL;
    -- A client that freezes from here on would keep every successor out: let the server end it
    -- after a lease. A shorter limit that the caller has set stays.
    SELECT l.lease_ms,
           CASE WHEN pg_catalog.current_setting('idle_in_transaction_session_timeout') OPERATOR(pg_catalog.=) '0'
                  OR pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_in_transaction_session_timeout')::pg_catalog.interval)
                     OPERATOR(pg_catalog.*) 1000 OPERATOR(pg_catalog.>) l.lease_ms
                THEN pg_catalog.set_config('idle_in_transaction_session_timeout', l.lease_ms::pg_catalog.text, true) END
      INTO lease, bound
      FROM conch.leadership l
     WHERE l.scope OPERATOR(pg_catalog.=) fence.scope
       AND l.epoch OPERATOR(pg_catalog.=) fence.epoch
       AND (fence.term IS NULL OR l.term OPERATOR(pg_catalog.=) fence.term)
       AND l.parted_at IS NULL
       AND l.system_id OPERATOR(pg_catalog.=) conch.system_id()
       AND l.timeline OPERATOR(pg_catalog.=) conch.timeline()
       AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed';
    IF lease IS NULL THEN
        bound := conch.fence_closely(fence.scope, fence.epoch, fence.term);
    END IF;
END $$;
REVOKE ALL ON FUNCTION conch.fence(text, bigint, uuid) FROM PUBLIC;

-- fence_closely checks a token that did not pass at once, or whose transaction may have a snapshot
-- that is older than the lock. It returns how long the transaction may idle, or raises an error. The
-- caller holds the lock.
--
-- Epochs only grow, so an old snapshot is enough to tell that a token is stale. To tell that one is
-- current, the function shares the row for an instant, in a subtransaction that it undoes: Postgres
-- raises 40001 if the row was replaced since the snapshot was taken. If not, the snapshot shows the
-- newest row, and it stays the newest while the lock is held. Sharing the row until the commit would
-- prove the same, but would hold up farewells, and for ever with a stream of transactions.
--
-- It tells two cases apart: a READ ONLY transaction, which may lock no row, and row-level security that
-- hides the row from the owner too, which would seem to be a scope without a leader.
CREATE FUNCTION conch.fence_closely(scope text, epoch bigint, term uuid) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    l         conch.leadership;
    over      boolean;
    elsewhere boolean;
    idle      text := current_setting('idle_in_transaction_session_timeout');
BEGIN
    SELECT * INTO l FROM conch.leadership r WHERE r.scope = fence_closely.scope;
    over := fence_closely.epoch IS NULL OR l.epoch > fence_closely.epoch
            OR l.epoch = fence_closely.epoch AND (l.term <> fence_closely.term OR l.parted_at IS NOT NULL);
    IF over IS NOT TRUE AND current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        IF current_setting('transaction_read_only') = 'on' THEN
            RAISE EXCEPTION USING ERRCODE = 'read_only_sql_transaction',
                MESSAGE = format('conch.fence cannot tell whether the token of scope %L is current: above READ COMMITTED it has to lock the newest row, and this transaction is READ ONLY',
                                 fence_closely.scope),
                HINT = 'Begin it READ WRITE or READ COMMITTED; one that writes nothing and only reads needs no fence.';
        END IF;
        BEGIN
            PERFORM FROM conch.leadership r WHERE r.scope = fence_closely.scope FOR SHARE;
            IF NOT FOUND THEN
                -- A row that was inserted after the snapshot is invisible, but an INSERT runs into it.
                INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released,
                                              process_key, takeover, system_id, timeline, acquired_at)
                SELECT fence_closely.scope, 0, 0, gen_random_uuid(), '', 0, 0, true, 0, 'strict', 0, 0, now()
                 WHERE octet_length(fence_closely.scope) BETWEEN 1 AND 200
                    ON CONFLICT DO NOTHING;
            END IF;
            RAISE EXCEPTION USING ERRCODE = 'CN0OK';
        EXCEPTION WHEN SQLSTATE 'CN0OK' THEN
            NULL; -- undo only this; 40001 passes through
        END;
    END IF;

    -- A failover to a lagging standby can bring back a term that had a successor. So the fence, like
    -- the mint, looks for a row of another history.
    elsewhere := l.system_id <> conch.system_id() OR l.timeline <> conch.timeline();
    -- The condition is for what passes: without a row, or with a NULL epoch, it is not true, and
    -- neither is its negation.
    IF (l.parted_at IS NULL AND NOT elsewhere AND l.epoch = fence_closely.epoch
        AND (fence_closely.term IS NULL OR l.term = fence_closely.term)) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'CN001',
            MESSAGE = format('stale leadership of scope %L: epoch %s is not the current one',
                             fence_closely.scope, coalesce(fence_closely.epoch::text, 'NULL')),
            DETAIL = CASE WHEN coalesce(l.epoch, 0) = 0 THEN 'The scope has never been led.'
                          WHEN l.parted_at IS NOT NULL THEN format('Nobody leads: epoch %s was given up.', l.epoch)
                          WHEN elsewhere THEN 'It was minted before the database failed over or was restored.'
                          ELSE format('The current epoch is %s, term %s.', l.epoch, l.term) END,
            HINT = 'This token is over. Roll back and stop acting.';
    END IF;
    IF idle = '0' OR date_part('epoch', idle::interval) * 1000 > l.lease_ms THEN
        RETURN set_config('idle_in_transaction_session_timeout', l.lease_ms::text, true);
    END IF;
    RETURN idle;
END $$;
REVOKE ALL ON FUNCTION conch.fence_closely(text, bigint, uuid) FROM PUBLIC;
