-- Which history of the database this is. Declared immutable, because each plan then
-- holds the answer, and it is: a server has one system identifier, and its timeline
-- changes at the end of a recovery only, before which the second function fails, so
-- that no plan can have kept an answer from then. A plan dies with its session, and a
-- session with its server. Never build an index on them.
CREATE FUNCTION conch.system_id() RETURNS bigint LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT system_identifier FROM pg_control_system();
END;
CREATE FUNCTION conch.timeline() RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;

-- The fence: refuses a stale actor inside the caller's own transaction. Call it
-- as the last statement before COMMIT:
--
--     BEGIN;
--     INSERT INTO payments ...;
--     SELECT conch.fence('payments', 7, '...term...');
--     COMMIT;
--
-- It raises CN001 if that leadership is not the current one. Once it has
-- returned, no other leader can be minted for the scope until this transaction
-- ends: the mint takes the same key alone. Never call it inside a savepoint (a
-- rollback to it drops the lock), never swallow CN001, never PREPARE TRANSACTION
-- after it; as a trigger only as a deferred constraint trigger.
--
-- Every transaction of a service passes here, so it is written for speed. SET
-- search_path would cost as much as all the rest: instead every name and operator says
-- its schema, so that the caller's path resolves none. The lock is taken by an assignment
-- and not by PERFORM, which would start the executor; and all else is one query, since
-- PL/pgSQL makes each of its expressions ready anew in each transaction.
CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
DECLARE
    locked boolean;
    lease  integer;
    bound  pg_catalog.text;
BEGIN
    -- First the lock, then the look: read before it, the row could be replaced
    -- between the look and the commit.
    locked := pg_catalog.pg_advisory_xact_lock_shared(conch.fence_key(fence.scope)) IS NOT NULL;
    -- A client that freezes from here on would hold up every successor: let the
    -- server end it after a lease. A shorter bound of the caller's own stays.
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

-- fence_closely is what a fence does with a token that did not pass at once, and in a
-- transaction whose snapshot may be older than the lock. It answers how long the
-- transaction may idle, or says what is wrong. The caller holds the lock.
--
-- Epochs only grow, so an old snapshot is enough to tell that a token is over. Whether one
-- is current is settled by sharing the row for an instant, in a subtransaction that is
-- undone: Postgres answers 40001 if the row was replaced since the snapshot was taken. If
-- not, the snapshot shows the newest row, and it stays the newest while the lock is held.
-- A row shared until the commit would say the same, and would keep a farewell waiting for
-- as long as the transaction works: with a stream of them, for ever.
CREATE FUNCTION conch.fence_closely(scope text, epoch bigint, term uuid) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
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
        BEGIN
            PERFORM FROM conch.leadership r WHERE r.scope = fence_closely.scope FOR SHARE;
            IF NOT FOUND THEN
                -- A row that was inserted after the snapshot cannot be seen. It can be run into.
                INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released,
                                              process_key, takeover, system_id, timeline, acquired_at)
                SELECT fence_closely.scope, 0, 0, gen_random_uuid(), '', 0, 0, true, 0, 'strict', 0, 0, now()
                 WHERE octet_length(fence_closely.scope) BETWEEN 1 AND 200
                    ON CONFLICT DO NOTHING;
            END IF;
            RAISE EXCEPTION USING ERRCODE = 'CN0OK';
        EXCEPTION WHEN SQLSTATE 'CN0OK' THEN
            NULL; -- only this is undone; 40001 passes through
        END;
    END IF;

    -- A failover to a standby that lagged can bring a term back that had a successor.
    -- The mint knows a row of another history; so must the fence.
    elsewhere := l.system_id <> conch.system_id() OR l.timeline <> conch.timeline();
    -- Said of what is let through, as above: without a row, or with a NULL for the epoch,
    -- it is not true, while its contrary would not be true either.
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
