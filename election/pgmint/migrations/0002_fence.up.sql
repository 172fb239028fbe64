-- The fence: refuses a stale actor inside the caller's own transaction. Call it
-- as the last statement before COMMIT:
--
--     BEGIN;
--     INSERT INTO payments …;
--     SELECT conch.fence('payments', 7, '…term…');
--     COMMIT;
--
-- It raises CN001 if that leadership is not the current one. Once it has
-- returned, no other leader can be minted for the scope until this transaction
-- ends: the mint takes the same key alone. Never call it inside a savepoint (a
-- rollback to it drops the lock), never swallow CN001, never PREPARE TRANSACTION
-- after it; as a trigger only as a deferred constraint trigger.
CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Computed before it is used: inside the statement that locks it would be
    -- planned anew for each scope.
    key       bigint := conch.fence_key(fence.scope);
    now_epoch bigint;
    now_term  uuid;
    parted    timestamptz;
    sys       bigint;
    tl        bigint;
    now_lease int;
    foreign_  boolean;
    idle      bigint;
BEGIN
    -- First the lock, then the look: read before it, the row could be replaced
    -- between the look and the commit.
    PERFORM pg_advisory_xact_lock_shared(key);
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        SELECT l.epoch, l.term, l.parted_at, l.system_id, l.timeline, l.lease_ms INTO now_epoch, now_term, parted, sys, tl, now_lease
          FROM conch.leadership l WHERE l.scope = fence.scope;
    ELSE
        -- The snapshot is as old as the transaction. Locking the row fails with
        -- 40001 if it was replaced since.
        SELECT l.epoch, l.term, l.parted_at, l.system_id, l.timeline, l.lease_ms INTO now_epoch, now_term, parted, sys, tl, now_lease
          FROM conch.leadership l WHERE l.scope = fence.scope FOR SHARE;
    END IF;

    -- A failover to a standby that lagged can bring a term back that had a successor.
    -- The mint knows a row of another history; so must the fence.
    foreign_ := sys <> (pg_control_system()).system_identifier
             OR tl <> ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
    IF parted IS NOT NULL OR foreign_ OR now_epoch IS DISTINCT FROM fence.epoch OR (fence.term IS NOT NULL AND now_term IS DISTINCT FROM fence.term) THEN
        RAISE EXCEPTION USING ERRCODE = 'CN001',
            MESSAGE = format('stale leadership of scope %L: epoch %s is not the current one', fence.scope, fence.epoch),
            DETAIL = CASE WHEN coalesce(now_epoch, 0) = 0 THEN 'The scope has never been led.'
                          WHEN parted IS NOT NULL THEN format('Nobody leads: epoch %s was given up.', now_epoch)
                          WHEN foreign_ THEN 'It was minted before the database failed over or was restored.'
                          ELSE format('The current epoch is %s, term %s.', now_epoch, now_term) END,
            HINT = 'This token is over. Roll back and stop acting.';
    END IF;

    -- A client that freezes from here on would hold up every successor: let the
    -- server end it after a lease. A shorter bound of the caller's own stays.
    idle := extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval) * 1000;
    IF idle = 0 OR idle > now_lease THEN
        PERFORM set_config('idle_in_transaction_session_timeout', now_lease::text, true);
    END IF;
END $$;
REVOKE ALL ON FUNCTION conch.fence(text, bigint, uuid) FROM PUBLIC;
