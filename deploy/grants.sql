-- Least privilege for conch in the schema conch (requirement S29). Run this script as
-- the owner of the schema after each `conch migrate up`, since a new version may add
-- tables and functions. It may run any number of times:
--
--     conch --db "$OWNER_URL" migrate up
--     psql "$OWNER_URL" -f deploy/grants.sql
--     psql "$OWNER_URL" -v node=app_node -v fence=app_fence -v observer=app_observer -f deploy/grants.sql
--
-- It creates three roles without a login if they are missing (only that needs
-- CREATEROLE). Give them a login, or make your own login roles their members:
--
--   node      conch processes: campaign, lead, hand over, send and execute commands
--   fence     programs that call conch.fence() in their own transactions, and add and end jobs
--             there, nothing else
--   observer  status, history, watch and doctor: reads and changes nothing
--
-- LISTEN and advisory locks need no privilege. Only the owner can run `migrate up`,
-- `migrate down`, `migrate advance` and `scope forget`.
--
-- The functions run with the rights of their caller, all but conch.fence and
-- conch.history_trim and conch.notify_pending and conch.pending_archive and conch.pending_clear and
-- conch.pending_floor and conch.pending_forget and conch.pending_give_back and conch.pending_reserve and
-- conch.pending_trim and conch.sequencer_trim and conch.job_add and
-- conch.job_done and conch.job_hold and conch.schedule_trim. The owner's rights would not make
-- a node harmless, since a node that may bid and part can depose every leader; they
-- would put the owner's rights behind pg_terminate_backend and behind each argument
-- that a node passes. Use two databases for nodes that must not touch each other's
-- scopes.

\set ON_ERROR_STOP on
\if :{?node} \else \set node conch_node \endif
\if :{?fence} \else \set fence conch_fence \endif
\if :{?observer} \else \set observer conch_observer \endif

BEGIN;

SELECT format('CREATE ROLE %I NOLOGIN', r) FROM unnest(ARRAY[:'node', :'fence', :'observer']) AS r
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) \gexec

-- Start from nothing: by default PUBLIC may execute every function.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA conch FROM PUBLIC, :"node", :"fence", :"observer";
REVOKE ALL ON ALL TABLES IN SCHEMA conch FROM PUBLIC, :"node", :"fence", :"observer";
REVOKE ALL ON ALL SEQUENCES IN SCHEMA conch FROM PUBLIC, :"node", :"fence", :"observer";
GRANT USAGE ON SCHEMA conch TO :"node", :"fence", :"observer";

-- fence: one function, which runs as the owner and reads the row for its caller.
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
GRANT SELECT, INSERT, DELETE, UPDATE (last_seen, scopes, withdrawn, lease_ms, tombstoned, version, address, settings, lines_lost) ON conch.process TO :"node";
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
    conch.fence_key(text),
    conch.history_trim(timestamptz, bigint, int)
 TO :"node";

-- Pending transactions, if their tables exist. Only nodes may read signed bytes: any
-- program that has them can send them.
SELECT to_regclass('conch.pending_transactions') IS NOT NULL AS pending \gset
\if :pending
GRANT SELECT ON conch.intents, conch.pending_transactions, conch.pending_accounts, conch.pending_holds, conch.pending_lives,
                conch.pending_events, conch.hooks, conch.hook_waits, conch.archived_intents, conch.archived_transactions, conch.pending_schema_version,
                conch.pending_policies, conch.pending_spent, conch.pending_returned TO :"observer";
GRANT SELECT ON conch.pending_schema_version TO :"node";
GRANT SELECT, INSERT, UPDATE (nonce, fate, why, cancel, version, stuck, expiring, refusals, held_cause, held_why, held_height, held_nonce, held_since, held_until)
    ON conch.intents TO :"node";
GRANT SELECT, INSERT, UPDATE (system_id, timeline, epoch, write) ON conch.pending_accounts TO :"node";
GRANT SELECT, INSERT, UPDATE (hash, state, block_hash, block_number, effect, final, watched, intent, updated_at, epoch, write,
              witnesses, waits, version, told, stuck)
    ON conch.pending_transactions TO :"node";
GRANT SELECT, INSERT, UPDATE (intent, why, since, epoch, write) ON conch.pending_holds TO :"node";
GRANT SELECT, INSERT, UPDATE (over) ON conch.pending_lives TO :"node";
GRANT SELECT, INSERT ON conch.pending_attempts, conch.pending_events TO :"node"; -- append-only for it; a function deletes old events
GRANT SELECT ON conch.pending_floors TO :"node"; -- a floor that is too high hides a transaction: only functions move it
-- Only the owner writes policies, and only functions count what is spent: no node can raise a limit.
GRANT SELECT ON conch.pending_policies, conch.pending_spent, conch.pending_returned TO :"node";
GRANT EXECUTE ON FUNCTION conch.pending_reserve(text, uuid[], bytea[], text[], text[], bigint[], int[], text[], numeric[]),
    conch.pending_kept(bigint, bigint), conch.pending_clear(interval, int) TO :"node";
GRANT SELECT, INSERT, UPDATE (place, beyond, failures, failing_since, why, seen_at) ON conch.hooks TO :"node";
GRANT SELECT, INSERT, DELETE, UPDATE (tries, since, due_at, why, dead_at) ON conch.hook_waits TO :"node";
-- A node reads the archive, but moves rows there only through a function, which can delete no other row. Another
-- one deletes what has ended of conch's own transactions, and of nobody else's.
GRANT SELECT ON conch.archived_intents, conch.archived_transactions TO :"node";
GRANT SELECT (chain, account, nonce, n, hash, fee_max, fee_tip, gas, filler, created_at, until) ON conch.archived_attempts TO :"node"; -- not the signed bytes
GRANT EXECUTE ON FUNCTION conch.pending_history(), conch.pending_claim(text, bytea, text, bigint, bigint),
    conch.pending_given(bigint, bigint), conch.pending_live(text, bytea, bigint, bigint, bigint), conch.pending_archive(text, bytea, interval, int),
    conch.pending_forget(text, bytea, interval, int), conch.pending_floor(text, bytea, bigint), conch.pending_trim(interval, int) TO :"node";
\endif

-- The sequencer, if its tables exist. What members keep among themselves (payloads, states, contents, and what users
-- call their intents) is for nodes alone.
SELECT to_regclass('conch.sequencer_nodes') IS NOT NULL AS sequencer \gset
\if :sequencer
GRANT SELECT ON conch.sequencer_nodes, conch.sequencer_contracts, conch.sequencer_missing, conch.sequencer_schema_version TO :"observer";
GRANT SELECT (contract, sequence, place, deadline, created_at, failures, dispatched, over, ended, ended_at, confirmed, landed, block)
    ON conch.sequencer_intents TO :"observer";
GRANT SELECT (contract, owner, sequence, place, assembled, coordinator, delegation, valid_until, noted, created_at)
    ON conch.sequencer_dispatches TO :"observer";
GRANT SELECT (contract, sequence, place, assembled, given_to, coordinator, delegation, valid_until, created_at)
    ON conch.sequencer_grants TO :"observer";
GRANT SELECT ON conch.sequencer_schema_version TO :"node";
GRANT SELECT, INSERT, UPDATE (start, write, epoch, holder, began_at) ON conch.sequencer_nodes TO :"node";
GRANT SELECT, INSERT, UPDATE (final) ON conch.sequencer_contracts TO :"node";
GRANT SELECT, INSERT, UPDATE (failures, dispatched, over, given_up, ended, ended_at, confirmed, landed, block, why)
    ON conch.sequencer_intents TO :"node";
GRANT SELECT, INSERT ON conch.sequencer_grants TO :"node"; -- append-only for it
GRANT SELECT, INSERT, UPDATE (landed, done_at) ON conch.sequencer_attempts TO :"node"; -- trim alone deletes what has ended
GRANT SELECT, INSERT, DELETE, UPDATE (place, assembled, endorsements, coordinator, delegation, signature, valid_until, noted, created_at)
    ON conch.sequencer_dispatches TO :"node";
GRANT SELECT, INSERT, DELETE ON conch.sequencer_states, conch.sequencer_early TO :"node";
GRANT SELECT, INSERT, DELETE, UPDATE (owner, sequence, block) ON conch.sequencer_missing TO :"node";
GRANT EXECUTE ON FUNCTION conch.sequencer_begin(text, bigint, text), conch.sequencer_turn(text, bigint, bigint, text[]),
    conch.sequencer_trim(text, text[], interval[], int) TO :"node";
\endif

-- Logs, if their tables exist. What users write is for nodes alone. Records are append-only for them.
SELECT to_regclass('conch.log') IS NOT NULL AS log \gset
\if :log
GRANT SELECT ON conch.log_schema_version TO :"observer", :"node";
GRANT SELECT (id, namespace, scope, newest, term, appends, created_at) ON conch.log TO :"observer";
GRANT SELECT, INSERT, UPDATE (newest, term, appends) ON conch.log TO :"node";
GRANT SELECT, INSERT ON conch.log_record TO :"node";
GRANT EXECUTE ON FUNCTION conch.log_append(bytea, text, bigint, bigint, bytea[], bytea[]),
    conch.log_read(bytea, bigint, int, bigint), conch.log_newest(bytea, bigint) TO :"node";
\endif

-- Crons and jobs, if their tables exist. What handlers get, and what became of it, is for nodes alone. A definition and a job are never changed.
SELECT to_regclass('conch.crons') IS NOT NULL AS schedule \gset
\if :schedule
GRANT SELECT ON conch.crons, conch.cron_file, conch.cron_runs, conch.cron_gaps, conch.schedule_server, conch.job_ready, conch.job_later,
                conch.job_waiting, conch.job_taken, conch.job_dead, conch.schedule_schema_version TO :"observer";
GRANT SELECT (id, queue, cron, at, created_at) ON conch.jobs TO :"observer";
GRANT SELECT ON conch.schedule_schema_version TO :"node";
GRANT SELECT, INSERT, UPDATE (filed, retired, newest, adopted, cursor_at, cursor_wall, floor_at) ON conch.crons TO :"node";
GRANT SELECT, INSERT, UPDATE (since) ON conch.cron_revisions TO :"node";
GRANT SELECT, UPDATE ON conch.cron_file, conch.schedule_server TO :"node";
GRANT SELECT, INSERT, DELETE, UPDATE (outcome, job) ON conch.cron_runs TO :"node";
GRANT SELECT, INSERT ON conch.cron_gaps TO :"node";
GRANT SELECT, INSERT, DELETE ON conch.jobs TO :"node"; -- it deletes one that overlaps, in the transaction that adds it
GRANT USAGE ON SEQUENCE conch.jobs_id_seq TO :"node";
-- To lock a row takes the right to change a column of it.
GRANT SELECT, INSERT, DELETE, UPDATE (attempt) ON conch.job_ready, conch.job_later, conch.job_dead TO :"node";
GRANT SELECT, INSERT, DELETE, UPDATE (cancel, progress) ON conch.job_taken TO :"node";
GRANT SELECT, INSERT, DELETE, UPDATE (job) ON conch.job_lanes TO :"node";
GRANT SELECT, DELETE ON conch.job_keys TO :"node";
GRANT SELECT, INSERT, DELETE ON conch.job_waiting TO :"node";
GRANT SELECT, INSERT ON conch.job_operated TO :"node";
GRANT SELECT, INSERT, UPDATE (spare) ON conch.job_attempts TO :"node";
GRANT SELECT, INSERT, UPDATE (done, ended_at) ON conch.job_operations TO :"node";
GRANT EXECUTE ON FUNCTION
    conch.cron_move(bigint[], timestamptz[], timestamp[], int[], int[], timestamptz[], timestamp[], timestamptz[], jsonb, bigint[], timestamptz[], int[], timestamptz[], text, bigint),
    conch.cron_run(bigint, timestamptz, int, timestamptz, jsonb, bigint, text, bigint),
    conch.cron_revise(text, jsonb, boolean, boolean, text), conch.dead_step(uuid, int), conch.job_cancel(bigint, text),
    conch.job_end(bigint[], int[], text[], text[], json[], float8[]), conch.job_again(bigint, int, text, text, interval),
    conch.job_progress(bigint[], int[], text[]), conch.job_leave(bigint), conch.job_take(text[], text, bigint, int, timestamptz, "char"[], boolean), conch.job_kind(jsonb),
    conch.job_enter(bigint, int, text, timestamptz, int), conch.job_start(bigint, int, timestamptz, timestamptz), conch.job_wait(int), conch.job_word(text, timestamptz),
    conch.schedule_look(bigint), conch.schedule_here(), conch.schedule_trim(timestamptz, bigint, int) TO :"node";
-- Handlers, and programs that add jobs, do so in their own transactions: these run as the owner. A node is a member of fence.
GRANT EXECUTE ON FUNCTION conch.job_add(text, text, json, timestamptz, int, text, text, int, interval, boolean), conch.job_done(bigint, int, json),
    conch.job_hold(bigint, int) TO :"fence";
-- Figures. Programs add their own, under names that are not conch's, and nobody but a node takes any away.
GRANT SELECT, INSERT, DELETE ON conch.sample TO :"node";
GRANT EXECUTE ON FUNCTION conch.sample_put(interval, interval, timestamptz, bigint, text[], jsonb[], float8[], int) TO :"node";
GRANT INSERT (at, name, labels, value) ON conch.sample TO :"fence";
GRANT SELECT ON conch.sample TO :"observer";
GRANT SELECT, INSERT, UPDATE ON conch.slots TO :"node";
GRANT SELECT ON conch.slots TO :"observer";
GRANT EXECUTE ON FUNCTION conch.slot_free(timestamptz, timestamptz, interval), conch.slot_end(text, uuid, int),
    conch.slot_begin(text, bigint, text, interval, interval, uuid, boolean) TO :"node";
\endif

-- Alerts, if their tables exist. Any node reports and claims; the one that leads records. What nodes report, and what receivers were sent, is for nodes alone.
SELECT to_regclass('conch.alert_groups') IS NOT NULL AS alerts \gset
\if :alerts
GRANT SELECT ON conch.alert_groups, conch.alert_members, conch.alert_evaluation, conch.alert_nodes, conch.silences, conch.alerts_schema_version TO :"observer";
GRANT SELECT (key, receiver, told, knows, at, seq, asked, tries, doubt) ON conch.alert_tellings TO :"observer";
GRANT SELECT ON conch.alerts_schema_version TO :"node";
GRANT SELECT, INSERT, UPDATE, DELETE ON conch.alert_groups, conch.alert_members, conch.alert_tellings, conch.alert_nodes, conch.silences TO :"node";
GRANT SELECT, UPDATE ON conch.alert_evaluation TO :"node";
GRANT SELECT, INSERT, DELETE, UPDATE (body) ON conch.alert_samples TO :"node"; -- to lock a row takes the right to change a column of it
GRANT EXECUTE ON FUNCTION
    conch.alert_record(jsonb, jsonb, text[], text[], jsonb[], float8[], timestamptz[], timestamptz[], bigint[], text[], text[], text[], text[], jsonb),
    conch.alert_report(text, text, bigint, bigint, text, bytea, interval, int), conch.alert_claim(text, bigint) TO :"node";
\endif

-- A node is a member of fence for two reasons: it fences its own transactions and those
-- of a command under `conch run`; and it may then end a session of that role whose
-- transaction has held a fence for longer than a lease. It cannot end sessions that log
-- in as another role, which is only a member of fence. The server ends these when they
-- are idle, as conch.fence sets it up; while they work, the successor waits, and the
-- history names them as `blocked`. To let a node see their age and end them:
--     GRANT pg_read_all_stats, pg_signal_backend TO conch_node;
SELECT format('GRANT %I TO %I', :'fence', :'node') WHERE NOT EXISTS (
    SELECT FROM pg_auth_members m JOIN pg_roles f ON f.oid = m.roleid JOIN pg_roles n ON n.oid = m.member
     WHERE f.rolname = :'fence' AND n.rolname = :'node') \gexec

COMMIT;
