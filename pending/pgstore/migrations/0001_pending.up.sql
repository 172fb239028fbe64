-- Pending transactions: what shall be done (intents), in which slot (one row for
-- each account and nonce), by which signed bytes (attempts). Facts only; a state is
-- what the leader derived from them last. Requirements S23, S24, S26.
--
-- Text in an index sorts by its bytes: one sorted by a locale misses rows once an upgrade
-- of the system has changed how that sorts, and a key that is missed is paid twice.
--
-- An insert of an intent fires a trigger, over a connection with any search_path: so each function
-- sets its own, or is parsed when it is created.

-- What an index is asked for is a column, so that an update that does not change the answer, such as the last one, writes to no
-- index.
CREATE TABLE conch.intents (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY,   -- the order in which they get slots
    chain           text COLLATE "C" NOT NULL,
    account         bytea NOT NULL,
    space           text COLLATE "C" NOT NULL DEFAULT '',   -- in which its key is unique: empty for callers, else a part of conch itself
    idempotency_key text COLLATE "C",                       -- the caller's own name for it
    to_account      bytea NOT NULL,
    value           numeric(78, 0) NOT NULL CHECK (value >= 0),
    data            bytea NOT NULL,
    gas             bigint NOT NULL CHECK (gas >= 0),
    creator         text NOT NULL,
    token           text COLLATE "C" NOT NULL DEFAULT '',        -- by whose policy it was accepted; empty: nobody's, or conch's own
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_block      bigint NOT NULL DEFAULT 0,              -- it gets no slot once this block is there; 0: it does
    valid_until     timestamptz,                            -- it gets no slot from then on; NULL: it does
    speed           text COLLATE "C" CHECK (speed IN ('slow', 'fast')), -- NULL: normal
    max_fee         numeric(78, 0) CHECK (max_fee > 0),     -- of a unit of gas; NULL: that of the account
    expiring        boolean NOT NULL DEFAULT false,         -- it has a slot, and was called back
    nonce           bigint,                                 -- its slot, once it has one
    fate            text NOT NULL DEFAULT 'open' CHECK (fate IN ('open', 'done', 'cancelled', 'rejected', 'expired')),
    why             text NOT NULL DEFAULT '',
    cancel          boolean NOT NULL DEFAULT false,         -- asked for; it may be too late
    -- Raised by each change of what is told of it. While it has a slot, the slot's version stands for this one: so a block changes
    -- no intent. A writer that changes an intent which has a slot raises the slot's too, and first.
    version         bigint NOT NULL DEFAULT 1,
    stuck           boolean NOT NULL DEFAULT false,         -- it was told that it waits for long for a slot
    -- Why it got no slot when it was tried. In relaxed order it is put off meanwhile, and others pass it: then it no longer
    -- waits but is put off, in an index of its own, so that neither is ever read past the other.
    refusals        int NOT NULL DEFAULT 0,                 -- in a row, for the same cause
    held_cause      text COLLATE "C" NOT NULL DEFAULT '',
    held_why        text NOT NULL DEFAULT '',
    held_since      timestamptz,
    held_until      timestamptz,                            -- NULL: it is tried when its turn comes
    held_height     bigint NOT NULL DEFAULT 0,              -- the chain's at the first refusal
    held_nonce      bigint NOT NULL DEFAULT 0,              -- the one that it would have got then
    waits           boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate = 'open' AND NOT cancel AND held_until IS NULL) STORED,
    put_off         boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate = 'open' AND NOT cancel AND held_until IS NOT NULL) STORED,
    cancelling      boolean NOT NULL GENERATED ALWAYS AS (cancel AND fate = 'open' AND nonce IS NOT NULL) STORED,
    slotless        boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate <> 'open') STORED, -- it ended without a slot
    own_open        boolean NOT NULL GENERATED ALWAYS AS (space <> '' AND fate = 'open') STORED -- of conch itself, and under way
) WITH (fillfactor = 60);
-- An intent without a key needs no place among the keys.
CREATE UNIQUE INDEX intents_idempotency_key ON conch.intents (chain, account, space, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX intents_waiting ON conch.intents (chain, account, seq) WHERE waits;
CREATE INDEX intents_put_off ON conch.intents (chain, account, seq) WHERE put_off;
CREATE INDEX intents_due ON conch.intents (chain, account, held_until) WHERE put_off;
CREATE INDEX intents_held ON conch.intents (chain, account, held_cause, seq) WHERE put_off;
CREATE INDEX intents_cancel ON conch.intents (chain, account) WHERE cancelling;
CREATE INDEX intents_slotless ON conch.intents (chain, account, seq) WHERE slotless;
-- For lists, and for nothing else: where many rows wait, the planner would take an index on seq itself for the queue too, and read
-- it past all finished rows.
CREATE INDEX intents_listed ON conch.intents ((seq + 0));
CREATE INDEX intents_of_token ON conch.intents (token, (seq + 0)) WHERE token <> '';
-- What conch itself has sent from an account, for its private contracts; and what of it is under way, by whom it calls, since many
-- contracts may share an account.
CREATE INDEX intents_own ON conch.intents (chain, account, seq) WHERE space <> '';
CREATE INDEX intents_own_open ON conch.intents (chain, account, space, to_account) WHERE own_open;

-- The scope that sends from an account, and the history of the database in which it was last worked
-- on: in another one, rows may be missing.
--
-- Writes of a leader with a lower number do not count any more. A leader that has no answer to a
-- write raises the number before it looks at the rows: the write is then in them, or never will be.
CREATE TABLE conch.pending_accounts (
    chain     text COLLATE "C" NOT NULL,
    account   bytea NOT NULL,
    scope     text NOT NULL,                                -- one account is never sent from under two scopes
    system_id bigint NOT NULL,
    timeline  bigint NOT NULL,
    epoch     bigint NOT NULL DEFAULT 0,
    write     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (chain, account)
);

-- history names the database history in which this runs. Immutable, so that the plan of each write holds the answer, which reading the
-- server's control file costs otherwise. It is: the timeline changes at the end of a
-- recovery only, before which this fails, and no plan outlives the server.
CREATE FUNCTION conch.pending_history(OUT system_id bigint, OUT timeline bigint) LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT (SELECT system_identifier FROM pg_control_system()),
           ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
END;

-- claim makes an account the scope's, or refuses. Writes share the lock, so a leader that raises the number waits until they have ended.
CREATE FUNCTION conch.pending_claim(chain text, account bytea, scope text, epoch bigint, write bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held conch.pending_accounts;
BEGIN
    SELECT * INTO held FROM conch.pending_accounts a
     WHERE a.chain = pending_claim.chain AND a.account = pending_claim.account FOR SHARE;
    IF NOT FOUND THEN
        INSERT INTO conch.pending_accounts AS a (chain, account, scope, system_id, timeline)
        SELECT pending_claim.chain, pending_claim.account, pending_claim.scope, h.system_id, h.timeline FROM conch.pending_history() h
            ON CONFLICT DO NOTHING;
        SELECT * INTO held FROM conch.pending_accounts a
         WHERE a.chain = pending_claim.chain AND a.account = pending_claim.account FOR SHARE;
    END IF;
    IF held.scope <> pending_claim.scope THEN
        RAISE EXCEPTION USING ERRCODE = 'CN011',
            MESSAGE = format('account 0x%s on %s is sent from under the scope %L, not %L: two scopes would both sign its nonces',
                             encode(account, 'hex'), chain, held.scope, pending_claim.scope),
            HINT = 'Name the same scope, or, once nothing of it is pending, delete its row of conch.pending_accounts.';
    END IF;
    IF (held.epoch, held.write) > (pending_claim.epoch, pending_claim.write) THEN
        RAISE EXCEPTION USING ERRCODE = 'CN012',
            MESSAGE = format('write %s of epoch %s comes too late: its leader has given it up and looked at the rows since',
                             pending_claim.write, pending_claim.epoch);
    END IF;
END $$;

-- Lives: on some chains an account may cease to exist and begin anew, and the chain then counts its nonces from 0 again. The nonces of
-- pending_transactions go on instead: in a life the chain's nonce is the row's, less first. The newest life is that of the account now; an
-- account without a row here is in its first life.
CREATE TABLE conch.pending_lives (
    chain     text COLLATE "C" NOT NULL,
    account   bytea NOT NULL,
    life      bigint NOT NULL CHECK (life >= 0),
    first     bigint NOT NULL CHECK (first >= 0),
    since     bigint NOT NULL,                              -- no block up to this height has any of its transactions
    over      boolean NOT NULL DEFAULT false,               -- a person has said so
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (chain, account, life)
);

-- live lets the next life of an account begin, and no other: a leader that is not told of one has looked at the wrong rows.
CREATE FUNCTION conch.pending_live(chain text, account bytea, life bigint, first bigint, since bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint := coalesce((SELECT max(l.life) FROM conch.pending_lives l WHERE l.chain = pending_live.chain AND l.account = pending_live.account), 0);
BEGIN
    IF life <> newest + 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'CN015',
            MESSAGE = format('life %s of account 0x%s on %s cannot begin: its newest is %s', life, encode(account, 'hex'), chain, newest);
    END IF;
    INSERT INTO conch.pending_lives (chain, account, life, first, since)
    VALUES (pending_live.chain, pending_live.account, pending_live.life, pending_live.first, pending_live.since);
END $$;

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

-- Which write a row's state is of: the leader's epoch, and the number of the write among that leader's. One that was given up may still
-- be carried out by the server, after a later one: it then changes nothing.
--
-- No index names a column that a change of state writes: else the row gets new entries in all of them.
CREATE TABLE conch.pending_transactions (
    chain        text COLLATE "C" NOT NULL,
    account      bytea NOT NULL,
    nonce        bigint NOT NULL CHECK (nonce >= 0),
    intent       uuid,                                      -- NULL: it closes a gap
    hash         bytea NOT NULL,                            -- of the attempt that counts: the dearest, or the one in a block
    watched      boolean NOT NULL DEFAULT true,             -- the leader follows it
    state        text NOT NULL DEFAULT 'future',
    block_hash   bytea,
    block_number bigint,
    effect       text COLLATE "C",                          -- in that block: ok, failed, partly, each perhaps with what has failed, or unknown
    final        boolean NOT NULL DEFAULT false,
    since_block  bigint NOT NULL,
    creator      text NOT NULL,                             -- which leader signed first
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    epoch        bigint NOT NULL DEFAULT 0,
    write        bigint NOT NULL DEFAULT 0,
    witnesses    text[],                                    -- NULL until two endpoints have called it final
    waits        text NOT NULL DEFAULT '',                  -- why
    version      bigint NOT NULL DEFAULT 1,                 -- of its intent
    stuck        boolean NOT NULL DEFAULT false,            -- it was told that it waits for long for a block, or for finality
    told         text NOT NULL DEFAULT '',                  -- the event that the last change was; empty: it was none
    PRIMARY KEY (chain, account, nonce)
) WITH (fillfactor = 35);                                   -- room for a block's state and the final one, longer by two witnesses, in place

CREATE TABLE conch.pending_attempts (
    chain      text COLLATE "C" NOT NULL,
    account    bytea NOT NULL,
    nonce      bigint NOT NULL,
    n          int NOT NULL,                                -- 1, 2, ...: the fees do not fall
    hash       bytea NOT NULL,
    signed     bytea NOT NULL,                              -- stored before they may leave
    fee_max    numeric(78, 0),
    fee_tip    numeric(78, 0),
    gas        bigint NOT NULL,
    filler     boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    until      bigint,                                      -- the last height that takes it; NULL: any does
    version    text,                                        -- of the chain's runtime for which it was signed; NULL: of none
    PRIMARY KEY (chain, account, nonce, n)
);

-- By any hash that was signed its intent is found. What hashes have in order is of no use: an index of their own hashes is smaller.
CREATE INDEX pending_attempts_hash ON conch.pending_attempts USING hash (hash);
-- For the last height at which any of an account's attempts can still get into a block.
CREATE INDEX pending_attempts_until ON conch.pending_attempts (chain, account, until) WHERE until IS NOT NULL;

-- Why no waiting intent of an account gets a slot; an empty why says that nothing is known.
--
-- It is not in pending_accounts: every write of a leader shares a lock on the account's row there,
-- from its beginning to its end. Two writes at once, of which one also updates the row, would wait
-- for each other, or the second for the whole of the first. A row here is locked by the last
-- statement of a write before the fence, so its holder waits for no other row.
CREATE TABLE conch.pending_holds (
    chain   text COLLATE "C" NOT NULL,
    account bytea NOT NULL,
    intent  uuid,                                 -- at which signing stopped; NULL: the reason concerns the account
    why     text NOT NULL,
    since   timestamptz NOT NULL,
    epoch   bigint NOT NULL,                      -- of the write that stored it, as in pending_transactions
    write   bigint NOT NULL,
    PRIMARY KEY (chain, account)
);

-- The open slots of an account are found by its primary key, from a floor on: no slot below it is open. A floor that is too high loses a
-- transaction, which no leader would load again; one that is too low costs time. So each write of a slot that is open lowers it, in a
-- trigger, and it is raised only under a lock, by what is seen after the lock is held.
CREATE TABLE conch.pending_floors (
    chain   text COLLATE "C" NOT NULL,
    account bytea NOT NULL,
    nonce   bigint NOT NULL,
    PRIMARY KEY (chain, account)
) WITH (fillfactor = 50);

-- floor moves an account's floor after a write: down to the lowest slot that the write has left open, else up to the
-- lowest that is open, at most by 20,000 and never above the newest slot.
--
-- Of two writes at once, one may raise the floor while the other, whose rows it cannot see, opens a slot that was final.
-- So each write of states ends with this: the one that has the lock second sees what the first has committed, or lowers what
-- the first has raised. A statement sees that only if it has a snapshot of its own, as in no other isolation. To add a slot
-- needs no lock: it is above the newest one.
--
-- The lock is taken by one of the last statements of a write, as that on the row of pending_holds.
CREATE FUNCTION conch.pending_floor(chain text, account bytea, lowest bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    held bigint;
    next bigint;
BEGIN
    SELECT f.nonce INTO held FROM conch.pending_floors f
     WHERE f.chain = pending_floor.chain AND f.account = pending_floor.account FOR NO KEY UPDATE;
    IF lowest < held THEN
        next := lowest;
    ELSIF current_setting('transaction_isolation') = 'read committed' THEN
        SELECT t.nonce INTO next FROM conch.pending_transactions t
         WHERE t.chain = pending_floor.chain AND t.account = pending_floor.account AND t.nonce BETWEEN held AND held + 20000 AND NOT t.final
         ORDER BY t.nonce LIMIT 1;
        IF next IS NULL THEN
            SELECT least(t.nonce, held + 20001) INTO next FROM conch.pending_transactions t
             WHERE t.chain = pending_floor.chain AND t.account = pending_floor.account ORDER BY t.nonce DESC LIMIT 1;
        END IF;
    END IF;
    IF next <> held THEN
        UPDATE conch.pending_floors f SET nonce = next WHERE f.chain = pending_floor.chain AND f.account = pending_floor.account;
    END IF;
END $$;
REVOKE ALL ON FUNCTION conch.pending_floor(text, bytea, bigint) FROM PUBLIC;

-- A notification is a hint that may be lost, and must not stop what it tells of: from half full on the server's one queue
-- warns at each commit that notifies, and a full one fails it (54000). So from there on nothing is announced, and readers
-- poll.
--
-- Up to 16 rows of a statement have a notification each; more have one for each account, with the nonces between which they are. Keys
-- only: a call of 64 kB would not fit, and an INSERT must not fail for it (D5). format takes half the time of json_build_object. The
-- floors are kept here too: a role that may write slots need not be allowed to write floors.
CREATE FUNCTION conch.notify_pending() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    few   boolean := (SELECT count(*) FROM (SELECT FROM fresh LIMIT 17) f) <= 16;
    heard boolean := pg_notification_queue_usage() < 0.5;
    n     record;
BEGIN
    IF few AND heard THEN
        PERFORM pg_notify(TG_ARGV[0], format(
            '{"chain":%s,"account":"0x%s","nonce":%s,"hash":"0x%s","state":"%s","creator":%s,"updated_at":%s,"block_hash":%s,"effect":%s}',
            to_json(f.chain), encode(f.account, 'hex'), f.nonce, encode(f.hash, 'hex'), f.state, to_json(f.creator),
            to_json(f.updated_at), coalesce('"0x' || encode(f.block_hash, 'hex') || '"', 'null'),
            coalesce('"' || split_part(f.effect, ':', 1) || '"', 'null')))
           FROM fresh f;
    END IF;
    FOR n IN SELECT f.chain, f.account, min(f.nonce) AS low, max(f.nonce) AS high, count(*) AS many, max(f.updated_at) AS at,
                    min(f.nonce) FILTER (WHERE NOT f.final) AS open
               FROM fresh f GROUP BY f.chain, f.account LOOP
        IF NOT few AND heard THEN
            PERFORM pg_notify(TG_ARGV[0], format('{"chain":%s,"account":"0x%s","from":%s,"to":%s,"n":%s,"updated_at":%s}',
                to_json(n.chain), encode(n.account, 'hex'), n.low, n.high, n.many, to_json(n.at)));
        END IF;
        UPDATE conch.pending_floors f SET nonce = n.open WHERE f.chain = n.chain AND f.account = n.account AND f.nonce > n.open;
        IF TG_OP = 'INSERT' AND NOT EXISTS (SELECT FROM conch.pending_floors f WHERE f.chain = n.chain AND f.account = n.account) THEN
            INSERT INTO conch.pending_floors VALUES (n.chain, n.account, 0) ON CONFLICT DO NOTHING; -- nobody knows what was before
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER pending_new AFTER INSERT ON conch.pending_transactions
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_pending('pending_tx_new');
CREATE TRIGGER pending_update AFTER UPDATE ON conch.pending_transactions
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_pending('pending_tx_update');

-- The leader is woken by what it has to do, and not by its own writes: one notification a statement.
CREATE FUNCTION conch.notify_intents() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('pending_intent', json_build_object('chain', n.chain, 'account', '0x' || encode(n.account, 'hex'))::text)
       FROM (SELECT DISTINCT chain, account FROM fresh) n WHERE pg_notification_queue_usage() < 0.5;
    RETURN NULL;
END $$;
CREATE TRIGGER intents_new AFTER INSERT ON conch.intents
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_intents();
CREATE FUNCTION conch.notify_cancel() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('pending_intent', json_build_object('chain', NEW.chain, 'account', '0x' || encode(NEW.account, 'hex'))::text)
      WHERE pg_notification_queue_usage() < 0.5;
    RETURN NULL;
END $$;
CREATE TRIGGER intents_cancelled AFTER UPDATE ON conch.intents
    FOR EACH ROW WHEN (NEW.cancel AND NOT OLD.cancel) EXECUTE FUNCTION conch.notify_cancel();

-- What is told of intents: each row is written by the statement that makes the change, so that neither is ever without the other, and
-- has what a receiver is told, since the intent may have changed again before it is read. A role that passes events on reads them from here
-- by their ids, and keeps for itself how far it has come, and what of it a receiver has confirmed. Rows never change.
--
-- The ids are drawn in the order of the versions of one intent, and are committed in that order: the statement holds the row that it has
-- changed. Those of different intents may become visible in any order: a reader that has seen id 10 may still get id 9. A writer draws
-- an id after it has its transaction's number. So once that of a transaction which began later than a reader found 9 missing is below
-- pg_snapshot_xmin, 9 is there, or never will be.
CREATE TABLE conch.pending_events (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    chain        text COLLATE "C" NOT NULL,
    account      bytea NOT NULL,
    intent       uuid NOT NULL,
    version      bigint NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('accepted', 'nonce', 'in_block', 'retracted', 'final', 'rejected', 'rewound', 'waiting')),
    fate         text NOT NULL DEFAULT 'open',
    nonce        bigint,
    hash         bytea,
    block_hash   bytea,
    block_number bigint,
    effect       text COLLATE "C",
    why          text NOT NULL DEFAULT ''
);

-- It is not told which events there are: readers fetch the rows.
CREATE FUNCTION conch.notify_events() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('pending_event', '') WHERE pg_notification_queue_usage() < 0.5;
    RETURN NULL;
END $$;
CREATE TRIGGER pending_told AFTER INSERT ON conch.pending_events FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_events();

-- How far each receiver of webhooks has been told. What is done there is confirmed, or was not asked for, or is a row of hook_waits.
CREATE TABLE conch.hooks (
    name          text COLLATE "C" PRIMARY KEY,
    place         bigint NOT NULL,                          -- every event with an ID up to this one is done
    beyond        int8multirange NOT NULL DEFAULT '{}',     -- and so are these above it
    failures      int NOT NULL DEFAULT 0,                   -- in a row
    failing_since timestamptz,
    why           text NOT NULL DEFAULT '',                 -- of the last failure
    seen_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Events that a receiver has refused, and those of their intents behind them. The first of an intent that is not dead is due at some time.
CREATE TABLE conch.hook_waits (
    hook    text COLLATE "C" NOT NULL REFERENCES conch.hooks ON DELETE CASCADE,
    event   bigint NOT NULL,
    intent  uuid NOT NULL,
    tries   int NOT NULL,                                   -- that have failed
    since   timestamptz NOT NULL,                           -- its first try, or when it was put here
    due_at  timestamptz,                                    -- NULL: it waits behind another, or is dead
    why     text NOT NULL,
    dead_at timestamptz,                                    -- it is tried no more
    PRIMARY KEY (hook, event)
);
CREATE INDEX hook_waits_event ON conch.hook_waits (event);
CREATE INDEX hook_waits_intent ON conch.hook_waits (hook, intent, event) WHERE dead_at IS NULL;
CREATE INDEX hook_waits_due ON conch.hook_waits (hook, due_at) WHERE dead_at IS NULL;
CREATE INDEX hook_waits_dead ON conch.hook_waits (hook, dead_at, event) WHERE dead_at IS NOT NULL;

-- trim deletes the oldest events if they are older than that, at most so many. It has its owner's rights: a node has no right to delete
-- an event that somebody has still to be told of.
--
-- One stays that a receiver has not been told of, and a dead one until it has been dead for as long: then it is forgotten. So is a receiver
-- that no node has had for a month.
CREATE FUNCTION conch.pending_trim(older interval, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off AS $$
DECLARE
    one  text;
    told bigint;
    n    int;
BEGIN
    DELETE FROM conch.hooks h WHERE h.seen_at < clock_timestamp() - interval '30 days';
    FOR one IN SELECT h.name FROM conch.hooks h LOOP
        DELETE FROM conch.hook_waits w
         WHERE w.hook = one AND w.event = ANY (ARRAY(SELECT d.event FROM conch.hook_waits d WHERE d.hook = one AND d.dead_at < clock_timestamp() - older
                                                      ORDER BY d.dead_at LIMIT most FOR UPDATE SKIP LOCKED));
    END LOOP;
    SELECT min(h.place) INTO told FROM conch.hooks h;
    DELETE FROM conch.pending_events e
     WHERE e.id = ANY (ARRAY(SELECT o.id FROM conch.pending_events o WHERE NOT EXISTS (SELECT FROM conch.hook_waits w WHERE w.event = o.id)
                              ORDER BY o.id LIMIT most FOR UPDATE SKIP LOCKED))
       AND e.at < clock_timestamp() - older AND (told IS NULL OR e.id <= told);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
REVOKE ALL ON FUNCTION conch.pending_trim(interval, int) FROM PUBLIC;

-- Policies: what the callers of one token may have sent on one chain. Only the owner writes them. A node judges a call by the rules; what
-- is limited over time is counted here, by the transaction that stores the intent.
CREATE TABLE conch.pending_policies (
    token   text COLLATE "C" NOT NULL,
    chain   text COLLATE "C" NOT NULL,
    rules   json NOT NULL,
    counted text[] NOT NULL,                                -- what is limited: 'count' in a minute; in a day 'value', 'fee', and ERC-20 contracts
    most    numeric[] NOT NULL,                             -- and how much of it
    version bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, -- another one after each change, and after a deletion
    PRIMARY KEY (token, chain)
);

-- A day and a minute are those of UTC, by this server's clock. Rows are never reset, so a clock that is put back finds what was spent.
CREATE TABLE conch.pending_spent (
    token text COLLATE "C" NOT NULL,
    chain text COLLATE "C" NOT NULL,
    what  text COLLATE "C" NOT NULL,
    since timestamptz NOT NULL,                             -- when its day, or its minute, began
    spent numeric NOT NULL,
    PRIMARY KEY (token, chain, what, since)
) WITH (fillfactor = 50);

-- What each intent has taken, until its day is long over.
CREATE TABLE conch.pending_reserved (
    intent   uuid PRIMARY KEY,
    token    text COLLATE "C" NOT NULL,
    chain    text COLLATE "C" NOT NULL,
    since    timestamptz NOT NULL,                          -- the day that it was taken from
    whats    text[] NOT NULL,
    amounts  numeric[] NOT NULL,
    returned smallint NOT NULL DEFAULT 0                    -- 1: all but the fee, 2: all
);

-- What was given back, and is not taken off what was spent yet: so who gives back waits for no row that callers share. Less than 0 was
-- taken again.
CREATE TABLE conch.pending_returned (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- a publication of all tables needs one
    token  text COLLATE "C" NOT NULL,
    chain  text COLLATE "C" NOT NULL,
    what   text COLLATE "C" NOT NULL,
    since  timestamptz NOT NULL,
    amount numeric NOT NULL
);
CREATE INDEX pending_returned_token ON conch.pending_returned (chain, token);

-- reserve takes what intents need from the limits of their policies, and says of each intent: granted, over (a limit), known (another
-- intent has its key, so it takes nothing), or changed (it was judged by another version of its policy). Of intent i the policy is that of
-- tokens[i], and it takes the amounts whose owner is i; owners are in order.
--
-- It holds the rows of the policies to the commit, in the order of their names, before it looks at keys and at what was spent: of two
-- batches at once the second sees what the first has stored. What they need together is taken together, and only where that is too much
-- one after the other. It has its owner's rights: a node has none to change a limit, or what was spent.
CREATE FUNCTION conch.pending_reserve(chain text, ids uuid[], accounts bytea[], keys text[], tokens text[], versions bigint[],
    owners int[], whats text[], amounts numeric[])
RETURNS TABLE (id uuid, verdict text, what text, most numeric, spent numeric, at timestamptz, again timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    day     timestamptz;
    minute  timestamptz;
    known   int[];                                          -- of ids, by their places, as in all that follows
    mine    int[];
    done    int[] := '{}';
    p       conch.pending_policies;
    o       int[];                                          -- of those, what each takes
    w       text[];
    a       numeric[];
    i       int;
    k       int;
    n       int;
BEGIN
    PERFORM FROM conch.pending_policies q WHERE q.chain = pending_reserve.chain AND q.token = ANY (tokens) ORDER BY q.token FOR NO KEY UPDATE;
    at := clock_timestamp();
    day := date_trunc('day', at, 'UTC');
    minute := date_trunc('minute', at, 'UTC');
    known := ARRAY(SELECT a.place
          FROM (SELECT u.*, row_number() OVER (PARTITION BY u.account, u.key ORDER BY u.place) AS nth
                  FROM unnest(accounts, keys) WITH ORDINALITY AS u(account, key, place) WHERE u.key <> '') a
         WHERE a.nth > 1
            OR EXISTS (SELECT FROM conch.intents k WHERE k.chain = pending_reserve.chain AND k.account = a.account AND k.space = '' AND k.idempotency_key = a.key)
            OR EXISTS (SELECT FROM conch.archived_intents k WHERE k.chain = pending_reserve.chain AND k.account = a.account AND k.space = '' AND k.idempotency_key = a.key));
    WITH gone AS (DELETE FROM conch.pending_returned r WHERE r.chain = pending_reserve.chain AND r.token = ANY (tokens) RETURNING r.*),
         sums AS (SELECT g.token, g.what, g.since, sum(g.amount) AS amount FROM gone g GROUP BY g.token, g.what, g.since)
    UPDATE conch.pending_spent s SET spent = s.spent - g.amount FROM sums g
     WHERE s.token = g.token AND s.chain = pending_reserve.chain AND s.what = g.what AND s.since = g.since;
    FOR p IN SELECT * FROM conch.pending_policies q WHERE q.chain = pending_reserve.chain AND q.token = ANY (tokens) ORDER BY q.token LOOP
        mine := ARRAY(SELECT m FROM generate_subscripts(ids, 1) m WHERE tokens[m] = p.token AND versions[m] = p.version AND m <> ALL (known) ORDER BY m);
        IF cardinality(mine) = 0 THEN
            CONTINUE;
        END IF;
        done := done || mine;
        SELECT coalesce(array_agg(t.i ORDER BY t.place), '{}'), coalesce(array_agg(t.what ORDER BY t.place), '{}'), coalesce(array_agg(t.amount ORDER BY t.place), '{}')
          INTO o, w, a FROM unnest(owners, whats, amounts) WITH ORDINALITY t(i, what, amount, place) JOIN unnest(mine) m ON m = t.i;
        IF NOT EXISTS (SELECT FROM conch.pending_excess(p, day, minute, w, a)) THEN
            PERFORM conch.pending_take(p, day, minute, ids, o, w, a);
            RETURN QUERY SELECT ids[m], 'granted', '', NULL::numeric, NULL::numeric, pending_reserve.at, NULL::timestamptz FROM unnest(mine) m;
            CONTINUE;
        END IF;
        k := 1;
        FOREACH i IN ARRAY mine LOOP
            n := k;
            WHILE n <= cardinality(o) AND o[n] = i LOOP
                n := n + 1;
            END LOOP;
            id := ids[i];
            SELECT x.what, x.most, x.spent, x.again INTO what, most, spent, again
              FROM conch.pending_excess(p, day, minute, w[k:n - 1], a[k:n - 1]) x ORDER BY x.again DESC NULLS FIRST LIMIT 1;
            verdict := CASE WHEN FOUND THEN 'over' ELSE 'granted' END;
            IF NOT FOUND THEN
                what := '';
                PERFORM conch.pending_take(p, day, minute, ids, o[k:n - 1], w[k:n - 1], a[k:n - 1]);
            END IF;
            k := n;
            RETURN NEXT;
        END LOOP;
    END LOOP;
    IF cardinality(done) < cardinality(ids) THEN
        RETURN QUERY SELECT ids[m], CASE WHEN m = ANY (known) THEN 'known' ELSE 'changed' END, '', NULL::numeric, NULL::numeric, pending_reserve.at, NULL::timestamptz
           FROM generate_subscripts(ids, 1) m WHERE m <> ALL (done);
    END IF;
END $$;
REVOKE ALL ON FUNCTION conch.pending_reserve(text, uuid[], bytea[], text[], text[], bigint[], int[], text[], numeric[]) FROM PUBLIC;

-- excess returns the limits that some intents would exceed together, and from when on they would not; NULL: more than all of one.
CREATE FUNCTION conch.pending_excess(p conch.pending_policies, day timestamptz, minute timestamptz, whats text[], amounts numeric[])
RETURNS TABLE (what text, most numeric, spent numeric, again timestamptz) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT n.what, l.most, coalesce(s.spent, 0),
           CASE WHEN n.amount > l.most THEN NULL WHEN n.what = 'count' THEN minute + interval '1 minute' ELSE day + interval '24 hours' END
      FROM (SELECT t.what, sum(t.amount) AS amount FROM unnest(whats, amounts) t(what, amount) GROUP BY t.what) n
      JOIN unnest((p).counted, (p).most) l(what, most) ON l.what = n.what
      LEFT JOIN conch.pending_spent s ON s.token = (p).token AND s.chain = (p).chain AND s.what = n.what AND s.since = CASE n.what WHEN 'count' THEN minute ELSE day END
     WHERE coalesce(s.spent, 0) + n.amount > l.most;
END;
REVOKE ALL ON FUNCTION conch.pending_excess(conch.pending_policies, timestamptz, timestamptz, text[], numeric[]) FROM PUBLIC;

-- take takes it. The plans of an SQL function would be made anew for each batch.
CREATE FUNCTION conch.pending_take(p conch.pending_policies, day timestamptz, minute timestamptz, ids uuid[], owners int[], whats text[], amounts numeric[])
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO conch.pending_reserved (intent, token, chain, since, whats, amounts)
    SELECT ids[t.i], (p).token, (p).chain, day, array_agg(t.what), array_agg(t.amount) FROM unnest(owners, whats, amounts) t(i, what, amount) GROUP BY t.i;
    INSERT INTO conch.pending_spent AS s (token, chain, what, since, spent)
    SELECT (p).token, (p).chain, t.what, CASE t.what WHEN 'count' THEN minute ELSE day END, sum(t.amount)
      FROM unnest(whats, amounts) t(what, amount) GROUP BY t.what
        ON CONFLICT (token, chain, what, since) DO UPDATE SET spent = s.spent + excluded.spent;
END $$;
REVOKE ALL ON FUNCTION conch.pending_take(conch.pending_policies, timestamptz, timestamptz, uuid[], int[], text[], numeric[]) FROM PUBLIC;

-- kept refuses to take anything for an intent that was not stored, since another one got its key meanwhile.
CREATE FUNCTION conch.pending_kept(granted bigint, stored bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF granted <> stored THEN
        RAISE EXCEPTION USING ERRCODE = 'CN014', MESSAGE = format('%s of %s intents were not stored: their keys were used meanwhile', granted - stored, granted);
    END IF;
    RETURN true;
END $$;

-- give_back gives back what intents have taken, in the transaction that makes an end final, and takes it again if the chain takes that end
-- back. What was done has spent all; what ended with a nonce, and without effect, has paid its fee; nothing else gives back.
CREATE FUNCTION conch.pending_give_back() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fresh f WHERE f.kind IN ('final', 'rejected', 'rewound')) THEN
        RETURN NULL; -- which costs less than to begin what follows
    END IF;
    WITH told AS (
        SELECT DISTINCT ON (f.intent) f.intent,
               CASE WHEN f.kind = 'rewound' OR f.fate = 'done' AND split_part(f.effect, ':', 1) IS DISTINCT FROM 'failed' THEN 0 WHEN f.nonce IS NULL THEN 2 ELSE 1 END AS back
          FROM fresh f WHERE f.kind IN ('final', 'rejected', 'rewound') ORDER BY f.intent, f.version DESC),
    moved AS (
        UPDATE conch.pending_reserved r SET returned = t.back FROM told t JOIN conch.pending_reserved was ON was.intent = t.intent
         WHERE r.intent = t.intent AND r.returned <> t.back
        RETURNING r.token, r.chain, r.since, r.whats, r.amounts, r.returned, was.returned AS before)
    INSERT INTO conch.pending_returned (token, chain, what, since, amount)
    SELECT m.token, m.chain, t.what, m.since, t.amount * ((m.returned >= b.at)::int - (m.before >= b.at)::int)
      FROM moved m, unnest(m.whats, m.amounts) t(what, amount), LATERAL (SELECT CASE t.what WHEN 'fee' THEN 2 ELSE 1 END AS at) b
     WHERE t.what <> 'count' AND (m.returned >= b.at) <> (m.before >= b.at);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION conch.pending_give_back() FROM PUBLIC;
CREATE TRIGGER pending_given_back AFTER INSERT ON conch.pending_events
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.pending_give_back();

-- clear deletes what was taken from days that are long over.
CREATE FUNCTION conch.pending_clear(older interval, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n int;
BEGIN
    DELETE FROM conch.pending_returned r WHERE r.since < clock_timestamp() - older;
    DELETE FROM conch.pending_spent s WHERE s.since < clock_timestamp() - older;
    DELETE FROM conch.pending_reserved r
     WHERE r.intent = ANY (ARRAY(SELECT o.intent FROM conch.pending_reserved o ORDER BY o.intent LIMIT most FOR UPDATE SKIP LOCKED))
       AND r.since < clock_timestamp() - older; -- IDs begin with the time
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
REVOKE ALL ON FUNCTION conch.pending_clear(interval, int) FROM PUBLIC;

-- What is finished may be moved out of the way: the same rows in tables that nobody
-- writes to. Idempotency keys count there as well.
CREATE TABLE conch.archived_intents (LIKE conch.intents, PRIMARY KEY (id), UNIQUE (chain, account, space, idempotency_key));
ALTER TABLE conch.archived_intents DROP COLUMN waits, DROP COLUMN put_off, DROP COLUMN stuck, DROP COLUMN cancelling, DROP COLUMN slotless, DROP COLUMN own_open, DROP COLUMN expiring, DROP COLUMN refusals,
    DROP COLUMN held_cause, DROP COLUMN held_why, DROP COLUMN held_since, DROP COLUMN held_until, DROP COLUMN held_height, DROP COLUMN held_nonce;
CREATE INDEX archived_intents_seq ON conch.archived_intents (seq);
CREATE INDEX archived_intents_token ON conch.archived_intents (token, seq) WHERE token <> '';
CREATE INDEX archived_intents_own ON conch.archived_intents (chain, account, seq) WHERE space <> '';
CREATE TABLE conch.archived_transactions (LIKE conch.pending_transactions, PRIMARY KEY (chain, account, nonce));
ALTER TABLE conch.archived_transactions DROP COLUMN epoch, DROP COLUMN write, DROP COLUMN told, DROP COLUMN stuck;
CREATE TABLE conch.archived_attempts (LIKE conch.pending_attempts, PRIMARY KEY (chain, account, nonce, n));
CREATE INDEX archived_attempts_hash ON conch.archived_attempts USING hash (hash);
CREATE INDEX archived_attempts_until ON conch.archived_attempts (chain, account, until) WHERE until IS NOT NULL;

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
    INSERT INTO conch.archived_attempts (chain, account, nonce, n, hash, signed, fee_max, fee_tip, gas, filler, created_at, until, version)
    SELECT g.chain, g.account, g.nonce, g.n, g.hash, g.signed, g.fee_max, g.fee_tip, g.gas, g.filler, g.created_at, g.until, g.version FROM gone g;
    WITH gone AS (DELETE FROM conch.pending_transactions t
         WHERE t.chain = pending_archive.chain AND t.account = pending_archive.account AND t.nonce = ANY (nonces) RETURNING t.*)
    INSERT INTO conch.archived_transactions (chain, account, nonce, intent, hash, watched, state, block_hash, block_number, effect, final, since_block, creator, created_at, updated_at, witnesses, waits, version)
    SELECT g.chain, g.account, g.nonce, g.intent, g.hash, g.watched, g.state, g.block_hash, g.block_number, g.effect, g.final, g.since_block, g.creator, g.created_at, g.updated_at, g.witnesses, g.waits, g.version FROM gone g;
    WITH gone AS (DELETE FROM conch.intents i WHERE i.id = ANY (ids) RETURNING i.*)
    INSERT INTO conch.archived_intents (id, seq, chain, account, space, idempotency_key, to_account, value, data, gas, creator, token, created_at, last_block, valid_until, speed, max_fee, nonce, fate, why, cancel, version)
    SELECT g.id, g.seq, g.chain, g.account, g.space, g.idempotency_key, g.to_account, g.value, g.data, g.gas, g.creator, g.token, g.created_at, g.last_block, g.valid_until, g.speed, g.max_fee, g.nonce, g.fate, g.why, g.cancel, g.version FROM gone g;
    RETURN greatest(cardinality(nonces), cardinality(ids));
END $$;
REVOKE ALL ON FUNCTION conch.pending_archive(text, bytea, interval, int) FROM PUBLIC;

-- What conch itself has sent is of no use to anybody once it has long been final, and its calls are large.
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
         WHERE i.chain = pending_forget.chain AND i.account = pending_forget.account AND i.space <> ''
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
                 WHERE x.chain = pending_forget.chain AND x.account = pending_forget.account AND x.space <> ''
                 ORDER BY x.seq LIMIT most) o
         WHERE o.nonce = ANY (gone) OR o.slotless AND o.created_at < cutoff));
    GET DIAGNOSTICS total = ROW_COUNT;
    WITH old AS MATERIALIZED (
        SELECT i.id, i.nonce, i.created_at FROM conch.archived_intents i
         WHERE i.chain = pending_forget.chain AND i.account = pending_forget.account AND i.space <> ''
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
