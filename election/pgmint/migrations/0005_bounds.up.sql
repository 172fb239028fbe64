-- A bid after a failover reads the leases of candidates as 32-bit numbers. It looks at this table first,
-- so this comes first.
ALTER TABLE conch.process ADD CONSTRAINT process_lease_ms CHECK (lease_ms BETWEEN 0 AND 2147483647);

-- A notification is a hint that may be lost, and must not stop what it tells of. A commit that notifies
-- fails with 54000 once the server's one queue is full, and from half full on the server warns: one
-- session of any database that listens and stays in a transaction is enough. So from half full on
-- nothing is announced, and candidates poll. To ask also frees what every listener has read.
CREATE OR REPLACE TRIGGER announce AFTER UPDATE ON conch.leadership FOR EACH ROW
    WHEN ((OLD.term IS DISTINCT FROM NEW.term OR OLD.parted_at IS DISTINCT FROM NEW.parted_at)
          AND pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5)
    EXECUTE FUNCTION conch.announce();
CREATE OR REPLACE TRIGGER announce_command AFTER INSERT OR UPDATE OF state ON conch.command FOR EACH ROW
    WHEN (pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5)
    EXECUTE FUNCTION conch.announce_command();

-- A role that may write an epoch must not use all of them up, since nothing may lower one. A bid raises
-- it by 1, and after a failover or a restore by 1,000,000 more for each timeline. Only the owner may
-- raise it further, to 2^62 at most, above which bids still have room. A timeline is bounded since
-- bids multiply it, and a time since nobody could read a list with one that is infinite.
CREATE OR REPLACE FUNCTION conch.guard_epoch() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old_epoch bigint := 0;
    most      bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'rows of conch.leadership are never deleted: the epoch of scope % must survive', OLD.scope;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        old_epoch := OLD.epoch;
        IF NEW.epoch < OLD.epoch OR NEW.scope <> OLD.scope THEN
            RAISE EXCEPTION 'the epoch of scope % must not go down from % to %', OLD.scope, OLD.epoch, NEW.epoch;
        END IF;
    END IF;
    IF NEW.epoch > old_epoch + 1 THEN
        most := old_epoch + 1 + 1000000 * ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
        IF (SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = TG_RELID) THEN
            most := greatest(most, 4611686018427387904);
        END IF;
    END IF;
    IF NEW.epoch > most OR NEW.epoch < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
            MESSAGE = format('the epoch of scope %s must not leap from %s to %s', NEW.scope, old_epoch, NEW.epoch),
            HINT = 'A bid raises it by 1, or jumps after a failover; the owner of the schema raises it with `conch migrate advance`.';
    ELSIF NEW.timeline NOT BETWEEN 0 AND 4294967295 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = format('%s is no timeline', NEW.timeline);
    ELSIF NOT isfinite(NEW.acquired_at) OR NOT isfinite(NEW.parted_at) THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = format('a term of scope %s must not begin or end at infinity', NEW.scope);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guard_epoch BEFORE INSERT OR UPDATE OR DELETE ON conch.leadership FOR EACH ROW
    EXECUTE FUNCTION conch.guard_epoch();

-- As in version 2, and two cases are told apart: a READ ONLY transaction, which may lock no row, and
-- row-level security that hides the row from the owner too, which seemed to be a scope without a leader.
CREATE OR REPLACE FUNCTION conch.fence_closely(scope text, epoch bigint, term uuid) RETURNS text
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
