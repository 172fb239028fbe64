-- The Postgres mint: one row per scope, an append-only history, heartbeats and the fence. Every table
-- is logged: an unlogged one would be empty on a promoted standby, and epochs must survive.
--
-- No function may use an object that another user has put into a schema of the caller's search_path,
-- where an overload that fits better than the one in pg_catalog would be called. The connections of
-- conch have a path without such schemas (internal/pg). The functions that only they call, and call
-- often, rely on it, since a SET costs as much as a small function: bid, refused, bury, settle, beat,
-- seen, beat_process, part and register. Every other function has a SET, gives the schema of each
-- name, or is parsed when it is created (RETURN, BEGIN ATOMIC).

-- IF NOT EXISTS, since `conch migrate down` keeps this table and the history.
--
-- Indexed text sorts by its bytes: if an upgrade of the system changes how a locale sorts, an index
-- sorted by that locale misses rows, and a scope whose row is missed begins again at epoch 1.
CREATE TABLE IF NOT EXISTS conch.leadership (
    scope       text COLLATE "C" PRIMARY KEY CHECK (octet_length(scope) BETWEEN 1 AND 200),
    lock_key    bigint NOT NULL,
    epoch       bigint NOT NULL,              -- only grows
    term        uuid NOT NULL,                -- unique to this term
    holder      text NOT NULL,
    lease_ms    int NOT NULL,
    hold_ms     int NOT NULL,                 -- the hold of a successor, unless this term is released
    released    boolean NOT NULL,             -- the act door was open, and all acts have ended
    process_key bigint NOT NULL,              -- locked by the holder's session until it ends
    takeover    text NOT NULL CHECK (takeover IN ('strict', 'fast', 'keep')),
    system_id   bigint NOT NULL,              -- with timeline, the database history of the mint
    timeline    bigint NOT NULL,
    transfer_to text NOT NULL DEFAULT '',     -- the only candidate that may bid, for a moment
    acquired_at timestamptz NOT NULL,         -- times are for people; safety never depends on one (S12)
    parted_at   timestamptz,                  -- when it was given up, released or not
    lost        boolean NOT NULL DEFAULT false, -- the term ended before it was given up; for people
    forgotten   uuid,                         -- the term for which the scope is hidden from lists
    waits_ms    int NOT NULL DEFAULT 0        -- after acquired_at: how long its act door stays shut, for predecessors; for people
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
    beat_at timestamptz                       -- of a lost term: its last heartbeat, up to which it surely led
);
CREATE INDEX IF NOT EXISTS leadership_history_scope ON conch.leadership_history (scope, id);
CREATE INDEX IF NOT EXISTS leadership_history_at ON conch.leadership_history USING brin (at) WITH (pages_per_range = 32);
CREATE INDEX IF NOT EXISTS leadership_history_failed ON conch.leadership_history (at) WHERE event = 'failed';

CREATE TABLE conch.heartbeat (
    scope   text COLLATE "C" PRIMARY KEY,
    epoch   bigint NOT NULL,
    holder  text NOT NULL,
    term    uuid NOT NULL,
    beat_at timestamptz NOT NULL
) WITH (fillfactor = 50);                     -- so that frequent updates stay in their page

INSERT INTO conch.heartbeat SELECT scope, epoch, holder, term, acquired_at FROM conch.leadership;

-- The candidates. The lock on its key, and not this table, says whether a process lives.
--
-- With locks by process, a heartbeat is an update of this row, for all terms that the session minted
-- and did not give up. So a transaction that takes or changes the row of such a term, other than by
-- the farewell of that process, must also set the tombstone: conch.bury.
CREATE TABLE conch.process (
    process_key bigint PRIMARY KEY,
    id          text NOT NULL,
    scopes      text[] COLLATE "C" NOT NULL,
    withdrawn   text[] COLLATE "C" NOT NULL DEFAULT '{}', -- scopes that it no longer campaigns for; see conch.enlist
    -- The longest of its leases: a bid after a failover reads it as a 32-bit number.
    lease_ms    bigint NOT NULL CONSTRAINT process_lease_ms CHECK (lease_ms BETWEEN 0 AND 2147483647),
    takeover    text NOT NULL,
    locks       text NOT NULL CHECK (locks IN ('session', 'process')),
    tombstoned  boolean NOT NULL DEFAULT false, -- declared dead: bids, and heartbeats by process, fail
    version     text NOT NULL DEFAULT '',      -- this and the next three are what it says of itself, for people
    address     text NOT NULL DEFAULT '',      -- where it serves
    settings    text NOT NULL DEFAULT '',      -- a hash of what its configuration should have in common with that of others
    lines_lost  bigint NOT NULL DEFAULT 0,     -- of its log: so many at least
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen   timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);                     -- so that frequent updates stay in their page

-- S13, with the names that it asks for. A heartbeat by process counts for all terms of the process.
CREATE VIEW conch.leader_heartbeat AS
    SELECT h.scope AS provider_id, h.holder AS instance_id,
           CASE WHEN p.locks = 'process' AND l.parted_at IS NULL THEN greatest(h.beat_at, p.last_seen) ELSE h.beat_at END AS last_seen
      FROM conch.heartbeat h LEFT JOIN conch.leadership l USING (scope) LEFT JOIN conch.process p USING (process_key);

-- The advisory lock key of a scope, documented so that other programs can take it too (S2).
-- STABLE, as convert_to is: a function that is declared less volatile than its parts is not inlined,
-- and a call then costs as much as all the rest of a bid.
CREATE FUNCTION conch.lock_key(scope text) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ('x' || encode(substr(sha256(convert_to('conch:' || scope, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;

-- The key of a scope's fence: fenced transactions share it, the mint takes it exclusively. Only this
-- database uses it, so it is the hash that Postgres computes fastest; each fence computes it once.
CREATE FUNCTION conch.fence_key(scope text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN hashtextextended(scope, x'636f6e6368'::bigint);

-- S8: wakes the candidates. The holder is empty if the scope was given up, so that they know whether
-- to bid.
--
-- A notification is a hint that may be lost, and must not stop what it tells of. A commit that notifies
-- fails with 54000 once the server's one queue is full, and from half full on the server warns: one
-- session of any database that listens and stays in a transaction is enough. So from half full on
-- nothing is announced, and candidates poll. To ask also frees what every listener has read.
CREATE FUNCTION conch.announce() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    channel pg_catalog.text := pg_catalog.current_setting('conch.listen_channel', true);
BEGIN
    IF pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5 THEN
        PERFORM pg_catalog.pg_notify(
            CASE WHEN channel OPERATOR(pg_catalog.<>) '' THEN channel ELSE 'conch_leader_change' END,
            pg_catalog.concat(NEW.scope, ':', CASE WHEN NEW.parted_at IS NULL THEN NEW.holder END, ':', NEW.epoch));
    END IF;
    RETURN NULL;
END $$;
-- A statement reads and plans the conditions of triggers anew, while a session keeps its functions: so
-- a farewell and a bid, for which others wait, have short conditions, and what is long is in functions.
CREATE TRIGGER announce AFTER UPDATE ON conch.leadership FOR EACH ROW
    WHEN (OLD.term IS DISTINCT FROM NEW.term OR OLD.parted_at IS DISTINCT FROM NEW.parted_at)
    EXECUTE FUNCTION conch.announce();

-- A lower epoch or a missing row would make a stale token look current. To do that on purpose, drop
-- this trigger first.
--
-- A role that may write an epoch must not use all of them up, since nothing may lower one. A bid raises
-- it by 1, and after a failover or a restore by 1,000,000 more for each timeline. Only the owner may
-- raise it further, to 2^62 at most, above which bids still have room. A timeline is bounded since
-- bids multiply it, and a time since nobody could read a list with one that is infinite.
CREATE OR REPLACE FUNCTION conch.guard_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    old_epoch bigint := 0;
    most      bigint;
BEGIN
    -- What a bid and a farewell do, unless the database has another history.
    IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' AND NEW.scope OPERATOR(pg_catalog.=) OLD.scope
       AND NEW.epoch OPERATOR(pg_catalog.>=) OLD.epoch AND NEW.epoch OPERATOR(pg_catalog.<=) (OLD.epoch OPERATOR(pg_catalog.+) 1)
       AND NEW.timeline OPERATOR(pg_catalog.=) OLD.timeline
       AND pg_catalog.isfinite(NEW.acquired_at) AND pg_catalog.isfinite(NEW.parted_at) IS NOT FALSE THEN
        RETURN NEW;
    END IF;
    IF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
        RAISE EXCEPTION 'rows of conch.leadership are never deleted: the epoch of scope % must survive', OLD.scope;
    END IF;
    IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
        old_epoch := OLD.epoch;
        IF NEW.epoch OPERATOR(pg_catalog.<) OLD.epoch OR NEW.scope OPERATOR(pg_catalog.<>) OLD.scope THEN
            RAISE EXCEPTION 'the epoch of scope % must not go down from % to %', OLD.scope, OLD.epoch, NEW.epoch;
        END IF;
    END IF;
    IF NEW.epoch OPERATOR(pg_catalog.>) (old_epoch OPERATOR(pg_catalog.+) 1) THEN
        most := old_epoch OPERATOR(pg_catalog.+) 1 OPERATOR(pg_catalog.+) (1000000 OPERATOR(pg_catalog.*)
            pg_catalog.concat('x', pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint);
        IF (SELECT pg_catalog.pg_has_role(c.relowner, 'USAGE') FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) TG_RELID) THEN
            most := greatest(most, 4611686018427387904);
        END IF;
    END IF;
    IF NEW.epoch OPERATOR(pg_catalog.>) most OR NEW.epoch OPERATOR(pg_catalog.<) 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
            MESSAGE = pg_catalog.format('the epoch of scope %s must not leap from %s to %s', NEW.scope, old_epoch, NEW.epoch),
            HINT = 'A bid raises it by 1, or jumps after a failover; the owner of the schema raises it with `conch migrate advance`.';
    ELSIF NEW.timeline OPERATOR(pg_catalog.<) 0 OR NEW.timeline OPERATOR(pg_catalog.>) 4294967295 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = pg_catalog.format('%s is no timeline', NEW.timeline);
    ELSIF NOT pg_catalog.isfinite(NEW.acquired_at) OR NOT pg_catalog.isfinite(NEW.parted_at) THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
            MESSAGE = pg_catalog.format('a term of scope %s must not begin or end at infinity', NEW.scope);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER guard_rows BEFORE INSERT OR DELETE ON conch.leadership FOR EACH ROW
    EXECUTE FUNCTION conch.guard_epoch();
CREATE OR REPLACE TRIGGER guard_epoch BEFORE UPDATE ON conch.leadership FOR EACH ROW
    EXECUTE FUNCTION conch.guard_epoch();
CREATE OR REPLACE FUNCTION conch.guard_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'conch.leadership is never truncated: epochs must survive';
END $$;
CREATE OR REPLACE TRIGGER guard_truncate BEFORE TRUNCATE ON conch.leadership
    EXECUTE FUNCTION conch.guard_truncate();
