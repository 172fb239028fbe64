-- Slots: which of the machines whose crontabs call a command at the same times runs it. The row of a scope is the last slot that was taken.
CREATE TABLE conch.slots (
    scope     text COLLATE "C" PRIMARY KEY,
    called_at timestamptz NOT NULL CHECK (isfinite(called_at)),    -- when the call that has taken it was made
    length    interval NOT NULL CHECK (length > '0'),
    call      uuid NOT NULL,                                       -- the last try: its call, and all that follows
    tries     int NOT NULL DEFAULT 1,
    holder    text COLLATE "C" NOT NULL,
    epoch     bigint NOT NULL,
    began_at  timestamptz NOT NULL,
    ended_at  timestamptz,                                         -- null: it goes on, or it was cut off
    code      int                                                  -- the exit code
) WITH (fillfactor = 50);

-- slot_free decides whether a call takes another slot than the one that was taken last. Machines call at slightly different times: a tenth of a
-- slot is left to them. A slot that lies ahead by as much was taken while the clock was ahead.
CREATE FUNCTION conch.slot_free(taken timestamptz, called timestamptz, length interval) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN called - taken >= length * 0.9 OR taken - called >= length * 0.9;

-- slot_begin takes a slot for a leader, who fences the transaction, and returns whether it is taken, with the row as it was. The call was made
-- so long ago as it has waited: one that had to wait does not push the next slot. A call that has had no answer is repeated under its id, and
-- keeps what it has taken. With again, a slot is taken once more whose command has failed or was cut off.
CREATE FUNCTION conch.slot_begin(scope text, epoch bigint, holder text, length interval, waited interval, call uuid, again boolean)
RETURNS TABLE (taken boolean, was_holder text, was_began timestamptz, was_ended timestamptz, was_code int)
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    WITH was AS (
        SELECT s.holder, s.began_at, s.ended_at, s.code FROM conch.slots s WHERE s.scope = slot_begin.scope AND s.call <> slot_begin.call
    ), took AS (
        INSERT INTO conch.slots AS s (scope, called_at, length, call, holder, epoch, began_at)
        VALUES (slot_begin.scope, now() - slot_begin.waited, slot_begin.length, slot_begin.call, slot_begin.holder, slot_begin.epoch, now())
        ON CONFLICT ON CONSTRAINT slots_pkey DO UPDATE SET length = excluded.length, call = excluded.call, holder = excluded.holder, epoch = excluded.epoch,
            began_at = excluded.began_at, ended_at = NULL, code = NULL,
            called_at = CASE WHEN conch.slot_free(s.called_at, excluded.called_at, excluded.length) THEN excluded.called_at ELSE s.called_at END,
            tries = CASE WHEN conch.slot_free(s.called_at, excluded.called_at, excluded.length) THEN 1 ELSE s.tries + 1 END
         WHERE conch.slot_free(s.called_at, excluded.called_at, excluded.length) OR s.call = excluded.call
            OR slot_begin.again AND s.code IS DISTINCT FROM 0
        RETURNING s.scope
    )
    SELECT EXISTS (SELECT FROM took), w.holder, w.began_at, w.ended_at, w.code FROM (SELECT) AS one LEFT JOIN was w ON true;
$$;

-- slot_end notes how the command of a slot has ended. The caller fences the transaction.
CREATE FUNCTION conch.slot_end(scope text, call uuid, code int) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    UPDATE conch.slots s SET ended_at = now(), code = slot_end.code WHERE s.scope = slot_end.scope AND s.call = slot_end.call;
$$;
