-- Least privilege for conch: who may do what in the schema conch (requirement S29).
-- Run it as the owner of the schema after each `conch migrate up`, since a new
-- version may bring tables and functions of its own; it may run any number of times:
--
--     conch --db "$OWNER_URL" migrate up
--     psql "$OWNER_URL" -f deploy/grants.sql
--     psql "$OWNER_URL" -v node=app_node -v fence=app_fence -v observer=app_observer -f deploy/grants.sql
--
-- Three roles, made without a login where they are missing (that alone needs
-- CREATEROLE). Give them a login, or make your own login roles their members:
--
--   node      conch processes: campaign, lead, hand over, answer and give commands
--   fence     whoever calls conch.fence() in a transaction of its own, and nothing else
--   observer  status, history, watch and doctor: reads and changes nothing
--
-- LISTEN and advisory locks need no privilege. `migrate up`, `down` and `advance`
-- and `scope forget` are for the owner alone.
--
-- The functions run with the rights of whoever calls them, all but conch.fence and
-- conch.pending_archive. To let the others run with the owner's would not make a node
-- harmless, since whoever may bid and part may depose anybody; it would put the owner's
-- rights behind pg_terminate_backend and behind each argument that a node passes. Nodes
-- that must not touch each other's scopes belong into two databases.

\set ON_ERROR_STOP on
\if :{?node} \else \set node conch_node \endif
\if :{?fence} \else \set fence conch_fence \endif
\if :{?observer} \else \set observer conch_observer \endif

BEGIN;

SELECT format('CREATE ROLE %I NOLOGIN', r) FROM unnest(ARRAY[:'node', :'fence', :'observer']) AS r
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) \gexec

-- From nothing: a function is everybody's until somebody says otherwise.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA conch FROM PUBLIC, :"node", :"fence", :"observer";
REVOKE ALL ON ALL TABLES IN SCHEMA conch FROM PUBLIC, :"node", :"fence", :"observer";
GRANT USAGE ON SCHEMA conch TO :"node", :"fence", :"observer";

-- fence: one function. It runs as the owner and reads the row for its caller.
GRANT EXECUTE ON FUNCTION conch.fence(text, bigint, uuid) TO :"fence";

-- observer.
GRANT SELECT ON conch.schema_version, conch.leadership, conch.leadership_history,
                conch.process, conch.heartbeat, conch.leader_heartbeat TO :"observer";
GRANT EXECUTE ON FUNCTION conch.obstacle(text, bigint), conch.holders(bigint), conch.row_holders(text),
    conch.culprit(int, text, timestamptz, text, text), conch.fence_key(text) TO :"observer";

-- node.
GRANT SELECT ON conch.schema_version TO :"node";
GRANT SELECT, INSERT, UPDATE ON conch.leadership, conch.heartbeat TO :"node";
GRANT SELECT ON conch.leader_heartbeat TO :"node";
GRANT SELECT, INSERT ON conch.leadership_history TO :"node"; -- append-only for it
GRANT SELECT, INSERT, DELETE, UPDATE (last_seen, scopes, withdrawn, lease_ms, tombstoned) ON conch.process TO :"node";
GRANT SELECT, INSERT, UPDATE (state, result, done_at) ON conch.command TO :"node";
GRANT EXECUTE ON FUNCTION
    conch.register(bigint, text, text[], bigint, text, text),
    conch.enlist(bigint, text[], text[], bigint),
    conch.bid(text, bigint, text, boolean, text[], bigint[], int[], boolean[], int, boolean, text[]),
    conch.refused(text[], bigint[], text, text),
    conch.bury(bigint[]),
    conch.settle(text[], uuid[]),
    conch.beat(text[], uuid[], boolean[]),
    conch.seen(bigint),
    conch.beat_process(bigint, text[], uuid[]),
    conch.part(bigint, text[], uuid[], boolean[], boolean[], text[], text[], text[], text[], bigint[]),
    conch.evict_fences(text, int),
    conch.obstacle(text, bigint),
    conch.holders(bigint),
    conch.row_holders(text),
    conch.culprit(int, text, timestamptz, text, text),
    conch.fence_key(text)
 TO :"node";

-- Pending transactions, where their tables are. Signed bytes are for nodes alone:
-- whoever has them can send them.
SELECT to_regclass('conch.pending_transactions') IS NOT NULL AS pending \gset
\if :pending
GRANT SELECT ON conch.intents, conch.pending_transactions, conch.pending_accounts,
                conch.archived_intents, conch.archived_transactions, conch.pending_schema_version TO :"observer";
GRANT SELECT ON conch.pending_schema_version TO :"node";
GRANT SELECT, INSERT, UPDATE (nonce, fate, why, cancel) ON conch.intents TO :"node";
GRANT SELECT, INSERT, UPDATE (system_id, timeline, epoch, write) ON conch.pending_accounts TO :"node";
GRANT SELECT, INSERT, UPDATE (hash, state, block_hash, block_number, failed, final, watched, intent, updated_at, epoch, write)
    ON conch.pending_transactions TO :"node";
GRANT SELECT, INSERT ON conch.pending_attempts TO :"node"; -- append-only for it
-- It reads the archive, and what it moves there a function moves, which can take nothing else away.
GRANT SELECT ON conch.archived_intents, conch.archived_transactions TO :"node";
GRANT EXECUTE ON FUNCTION conch.pending_history(), conch.pending_claim(text, bytea, text, bigint, bigint),
    conch.pending_given(bigint, bigint), conch.pending_archive(text, bytea, interval, int) TO :"node";
\endif

-- A node is a member of fence for two reasons: it fences its own transactions and
-- those of a command under `conch run`; and it may end a session of that role whose
-- transaction has held a fence for longer than a lease. Sessions that log in as another
-- role, a mere member of fence, it cannot end; they end by themselves if they idle,
-- since conch.fence sees to that, and hold the successor up while they work. The history
-- names them as `blocked`. To let a node see how old they are, and end them:
--     GRANT pg_read_all_stats, pg_signal_backend TO conch_node;
SELECT format('GRANT %I TO %I', :'fence', :'node') WHERE NOT EXISTS (
    SELECT FROM pg_auth_members m JOIN pg_roles f ON f.oid = m.roleid JOIN pg_roles n ON n.oid = m.member
     WHERE f.rolname = :'fence' AND n.rolname = :'node') \gexec

COMMIT;
