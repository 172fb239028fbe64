-- The Postgres mint: one row a scope, an append-only history, heartbeats beside
-- them, and the fence. Every table is logged: an unlogged one would be empty on
-- a promoted standby, and epochs must survive everything.
--
-- No function may take what somebody has put into a schema of the caller's search_path:
-- one that fits better than pg_catalog's own would be called. conch's connections have a
-- path without such schemas (internal/pg), and what is called all day long over these
-- alone relies on that, for a SET costs as much as a small function: bid, refused, bury,
-- settle, beat, beat_process, part and register. Whatever others call or fire too has a SET, or
-- says the schema of each name, or is parsed here and now (RETURN, BEGIN ATOMIC).

-- IF NOT EXISTS: `conch migrate down` keeps this table and the history, since an
-- epoch that began again at 1 would make old tokens look current.
--
-- Whatever text is in an index sorts by its bytes: an index that was sorted by a locale
-- misses rows once an upgrade of the system has changed how that sorts, and a missed
-- row is an epoch that begins again.
CREATE TABLE IF NOT EXISTS conch.leadership (
    scope       text COLLATE "C" PRIMARY KEY CHECK (octet_length(scope) BETWEEN 1 AND 200),
    lock_key    bigint NOT NULL,
    epoch       bigint NOT NULL,              -- only grows
    term        uuid NOT NULL,                -- names this tenure alone
    holder      text NOT NULL,
    lease_ms    int NOT NULL,
    hold_ms     int NOT NULL,                 -- how long a successor must assume that somebody may act
    released    boolean NOT NULL,             -- the act door had opened and every act has ended
    process_key bigint NOT NULL,              -- what to wait for to see the holder's process end
    takeover    text NOT NULL CHECK (takeover IN ('strict', 'fast', 'keep')),
    system_id   bigint NOT NULL,              -- the database history in which it was minted
    timeline    bigint NOT NULL,
    transfer_to text NOT NULL DEFAULT '',     -- a hint: others hold back for a moment
    acquired_at timestamptz NOT NULL,         -- times are for people; no decision reads them (S12)
    parted_at   timestamptz,                  -- given up, with or without the promise `released`
    lost        boolean NOT NULL DEFAULT false, -- the term had ended before it was given up; for people
    forgotten   uuid                          -- the term with which it was taken off the lists, until there is another
);

CREATE TABLE IF NOT EXISTS conch.leadership_history (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    scope  text COLLATE "C" NOT NULL,
    epoch  bigint NOT NULL,
    holder text NOT NULL,
    event  text NOT NULL CHECK (event IN ('acquired', 'lost', 'failed', 'released', 'drained', 'transferred', 'evicted', 'blocked')),
    reason text NOT NULL DEFAULT '',
    actor  text NOT NULL DEFAULT '',
    beat_at timestamptz                       -- of a term that was lost: its last heartbeat, after which nobody led for certain
);
CREATE INDEX IF NOT EXISTS leadership_history_scope ON conch.leadership_history (scope, id);
CREATE INDEX IF NOT EXISTS leadership_history_failed ON conch.leadership_history (at) WHERE event = 'failed';

CREATE TABLE conch.heartbeat (
    scope   text COLLATE "C" PRIMARY KEY,
    epoch   bigint NOT NULL,
    holder  text NOT NULL,
    term    uuid NOT NULL,
    beat_at timestamptz NOT NULL
) WITH (fillfactor = 50);                     -- rewritten all day long, in place

INSERT INTO conch.heartbeat SELECT scope, epoch, holder, term, acquired_at FROM conch.leadership;

-- Who campaigns. Whether a process lives is told by the lock on its key, not here.
--
-- A process whose locks are by process beats here, once for all the terms that its
-- session minted and did not give up. So whoever takes or changes the row of such a
-- term, other than by that process's own farewell, must set the tombstone in the same
-- transaction: conch.bury.
CREATE TABLE conch.process (
    process_key bigint PRIMARY KEY,
    id          text NOT NULL,
    scopes      text[] COLLATE "C" NOT NULL,
    withdrawn   text[] COLLATE "C" NOT NULL DEFAULT '{}', -- of these scopes those that it no longer campaigns for; see conch.enlist
    lease_ms    bigint NOT NULL,              -- the longest of its leases
    takeover    text NOT NULL,
    locks       text NOT NULL CHECK (locks IN ('session', 'process')),
    tombstoned  boolean NOT NULL DEFAULT false, -- its heartbeats fail from now on
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen   timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);                     -- rewritten all day long, in place

-- S13, under the names of the document. A term whose process beats once for all of
-- its terms is as fresh as its process.
CREATE VIEW conch.leader_heartbeat AS
    SELECT h.scope AS provider_id, h.holder AS instance_id,
           CASE WHEN p.locks = 'process' AND l.parted_at IS NULL THEN greatest(h.beat_at, p.last_seen) ELSE h.beat_at END AS last_seen
      FROM conch.heartbeat h LEFT JOIN conch.leadership l USING (scope) LEFT JOIN conch.process p USING (process_key);

-- The lock of a candidate: documented, so that others can take it too (S2).
-- STABLE, as convert_to is: what is declared less volatile than its parts is not
-- inlined, and a call then costs as much as all the rest of a bid.
CREATE FUNCTION conch.lock_key(scope text) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ('x' || encode(substr(sha256(convert_to('conch:' || scope, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;

-- A key other than the lock key: fences share it, the mint takes it alone. Nobody but this database ever sees it, so it
-- is the hash that Postgres computes fastest; each fence computes it once.
CREATE FUNCTION conch.fence_key(scope text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN hashtextextended(scope, x'636f6e6368'::bigint);

-- S8: wake whoever waits. The holder is empty when the scope was given up, so
-- that listeners know whether to try or to watch.
CREATE FUNCTION conch.announce() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    channel pg_catalog.text := pg_catalog.current_setting('conch.listen_channel', true);
BEGIN
    PERFORM pg_catalog.pg_notify(
        CASE WHEN channel OPERATOR(pg_catalog.<>) '' THEN channel ELSE 'conch_leader_change' END,
        pg_catalog.concat(NEW.scope, ':', CASE WHEN NEW.parted_at IS NULL THEN NEW.holder END, ':', NEW.epoch));
    RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER UPDATE ON conch.leadership FOR EACH ROW
    WHEN (OLD.term IS DISTINCT FROM NEW.term OR OLD.parted_at IS DISTINCT FROM NEW.parted_at)
    EXECUTE FUNCTION conch.announce();

-- An epoch that goes down or a row that disappears would make a stale token look
-- current. Whoever must really do that has to drop this trigger first, and knows.
CREATE OR REPLACE FUNCTION conch.guard_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP OPERATOR(pg_catalog.<>) 'UPDATE' THEN
        RAISE EXCEPTION 'rows of conch.leadership are never deleted: the epoch of scope % must survive', OLD.scope;
    ELSIF NEW.epoch OPERATOR(pg_catalog.<) OLD.epoch OR NEW.scope OPERATOR(pg_catalog.<>) OLD.scope THEN
        RAISE EXCEPTION 'the epoch of scope % must not go down from % to %', OLD.scope, OLD.epoch, NEW.epoch;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guard_epoch BEFORE UPDATE OR DELETE ON conch.leadership FOR EACH ROW
    EXECUTE FUNCTION conch.guard_epoch();
CREATE OR REPLACE FUNCTION conch.guard_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'conch.leadership is never truncated: epochs must survive';
END $$;
CREATE OR REPLACE TRIGGER guard_truncate BEFORE TRUNCATE ON conch.leadership
    EXECUTE FUNCTION conch.guard_truncate();
