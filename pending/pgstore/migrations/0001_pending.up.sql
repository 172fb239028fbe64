-- Pending transactions: what shall be done (intents), in which slot (one row for
-- each account and nonce), by which signed bytes (attempts). Facts only; a state is
-- what the leader derived from them last. Requirements S23, S24, S26.
--
-- Text in an index sorts by its bytes: one sorted by a locale misses rows once an upgrade
-- of the system has changed how that sorts, and a key that is missed is paid twice.
--
-- An insert of an intent fires a trigger, over a connection with any search_path: so each function
-- sets its own, or is parsed when it is created.

CREATE TABLE conch.intents (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY,   -- the order in which they get slots
    chain           text COLLATE "C" NOT NULL,
    account         bytea NOT NULL,
    idempotency_key text COLLATE "C",                       -- the caller's own name for it
    to_account      bytea NOT NULL,
    value           numeric(78, 0) NOT NULL CHECK (value >= 0),
    data            bytea NOT NULL,
    gas             bigint NOT NULL CHECK (gas >= 0),
    creator         text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    nonce           bigint,                                 -- its slot, once it has one
    fate            text NOT NULL DEFAULT 'open' CHECK (fate IN ('open', 'done', 'cancelled', 'rejected')),
    why             text NOT NULL DEFAULT '',
    cancel          boolean NOT NULL DEFAULT false,         -- asked for; it may be too late
    UNIQUE (chain, account, idempotency_key)
);
CREATE INDEX intents_waiting ON conch.intents (chain, account, seq) WHERE nonce IS NULL AND fate = 'open';
CREATE INDEX intents_cancel ON conch.intents (chain, account) WHERE cancel AND fate = 'open';
CREATE INDEX intents_seq ON conch.intents (seq);

-- Who sends from an account, and in which history of the database it was last worked
-- on: in another one, rows may be missing.
CREATE TABLE conch.pending_accounts (
    chain     text COLLATE "C" NOT NULL,
    account   bytea NOT NULL,
    scope     text NOT NULL,                                -- one account is never sent from under two scopes
    system_id bigint NOT NULL,
    timeline  bigint NOT NULL,
    PRIMARY KEY (chain, account)
);

-- history names the database history in which this runs.
CREATE FUNCTION conch.pending_history(OUT system_id bigint, OUT timeline bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT (SELECT system_identifier FROM pg_control_system()),
           ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
END;

-- claim makes an account the scope's, or refuses.
CREATE FUNCTION conch.pending_claim(chain text, account bytea, scope text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    owner text;
BEGIN
    INSERT INTO conch.pending_accounts AS a
    SELECT pending_claim.chain, pending_claim.account, pending_claim.scope, h.system_id, h.timeline FROM conch.pending_history() h
        ON CONFLICT DO NOTHING;
    SELECT a.scope INTO owner FROM conch.pending_accounts a
     WHERE a.chain = pending_claim.chain AND a.account = pending_claim.account;
    IF owner <> pending_claim.scope THEN
        RAISE EXCEPTION USING ERRCODE = 'CN011',
            MESSAGE = format('account 0x%s on %s is sent from under the scope %L, not %L: two scopes would both sign its nonces',
                             encode(account, 'hex'), chain, owner, pending_claim.scope),
            HINT = 'Name the same scope, or, once nothing of it is pending, delete its row of conch.pending_accounts.';
    END IF;
END $$;

CREATE TABLE conch.pending_transactions (
    chain        text COLLATE "C" NOT NULL,
    account      bytea NOT NULL,
    nonce        bigint NOT NULL CHECK (nonce >= 0),
    intent       uuid REFERENCES conch.intents,             -- NULL: it closes a gap
    hash         bytea NOT NULL,                            -- of the attempt that counts: the dearest, or the one in a block
    watched      boolean NOT NULL DEFAULT true,             -- the leader follows it
    state        text NOT NULL DEFAULT 'future',
    block_hash   bytea,
    block_number bigint,
    failed       boolean NOT NULL DEFAULT false,            -- in the chain, without effect
    final        boolean NOT NULL DEFAULT false,
    since_block  bigint NOT NULL,
    creator      text NOT NULL,                             -- which leader signed first
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (chain, account, nonce)
) WITH (fillfactor = 70);                                   -- rewritten a few times, in place
CREATE INDEX pending_transactions_open ON conch.pending_transactions (chain, account, nonce) WHERE NOT final;
CREATE INDEX pending_transactions_intent ON conch.pending_transactions (intent);

CREATE TABLE conch.pending_attempts (
    chain      text COLLATE "C" NOT NULL,
    account    bytea NOT NULL,
    nonce      bigint NOT NULL,
    n          int NOT NULL,                                -- 1, 2, ...: the fees rise
    hash       bytea NOT NULL,
    signed     bytea NOT NULL,                              -- stored before they may leave
    fee_max    numeric(78, 0),
    fee_tip    numeric(78, 0),
    gas        bigint NOT NULL,
    filler     boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (chain, account, nonce, n)
);
CREATE INDEX pending_attempts_hash ON conch.pending_attempts (hash);

-- Keys only: a call of 64 kB would not fit, and an INSERT must not fail for it (D5).
CREATE FUNCTION conch.notify_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(TG_ARGV[0], json_build_object(
        'chain', NEW.chain, 'account', '0x' || encode(NEW.account, 'hex'), 'nonce', NEW.nonce,
        'hash', '0x' || encode(NEW.hash, 'hex'), 'state', NEW.state, 'creator', NEW.creator,
        'updated_at', NEW.updated_at,
        'block_hash', CASE WHEN NEW.block_hash IS NOT NULL THEN '0x' || encode(NEW.block_hash, 'hex') END)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER pending_new AFTER INSERT ON conch.pending_transactions
    FOR EACH ROW EXECUTE FUNCTION conch.notify_pending('pending_tx_new');
CREATE TRIGGER pending_update AFTER UPDATE ON conch.pending_transactions
    FOR EACH ROW EXECUTE FUNCTION conch.notify_pending('pending_tx_update');

-- An intent that waits wakes the leader: one notification a statement.
CREATE FUNCTION conch.notify_intents() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('pending_intent', json_build_object('chain', n.chain, 'account', '0x' || encode(n.account, 'hex'))::text)
       FROM (SELECT DISTINCT chain, account FROM fresh) n;
    RETURN NULL;
END $$;
CREATE TRIGGER intents_new AFTER INSERT ON conch.intents
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_intents();
CREATE TRIGGER intents_changed AFTER UPDATE ON conch.intents
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_intents();
