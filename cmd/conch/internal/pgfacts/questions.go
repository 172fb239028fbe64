package pgfacts

const serverSQL = `
SELECT jsonb_build_object(
    'version', current_setting('server_version_num')::int, 'text', current_setting('server_version'),
    'standby', pg_is_in_recovery(), 'role', current_user,
    'system_id', (SELECT system_identifier FROM pg_control_system()),
    'timeline', CASE WHEN pg_is_in_recovery() THEN 0
                ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END)`

// roomSQL reads pg_stat_database, which also counts sessions that this role may not see. It leaves
// out its own session, which ends.
const roomSQL = `
SELECT jsonb_build_object(
    'locks_each', current_setting('max_locks_per_transaction')::int,
    'connections', current_setting('max_connections')::int,
    'prepared', current_setting('max_prepared_transactions')::int,
    'locks_held', (SELECT count(*) FROM pg_locks WHERE NOT fastpath AND locktype <> 'virtualxid'),
    'reserved', current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true), '0')::int,
    'in_use', (SELECT sum(numbackends) FROM pg_stat_database) - 1,
    'role_limit', (SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END FROM pg_roles WHERE rolname = current_user),
    'role_in_use', (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user) - 1,
    'base_limit', (SELECT datconnlimit FROM pg_database WHERE datname = current_database()),
    'base_in_use', (SELECT numbackends FROM pg_stat_database WHERE datname = current_database()) - 1)`

const standbysSQL = `
SELECT coalesce(jsonb_agg(jsonb_build_object('name', application_name, 'sync', coalesce(sync_state, ''))), '[]') FROM pg_stat_replication`

// settingsSQL reads client_min_messages as it was before conch set it on this connection.
const settingsSQL = `
SELECT jsonb_agg(jsonb_build_object('name', name, 'value', CASE name WHEN 'client_min_messages' THEN reset_val ELSE setting END, 'source', source))
  FROM pg_settings WHERE name IN ('client_min_messages',
    'synchronous_standby_names', 'synchronous_commit', 'fsync', 'full_page_writes',
    'idle_session_timeout', 'idle_in_transaction_session_timeout', 'default_transaction_read_only', 'session_replication_role')`

// privilegesSQL lists what deploy/grants.sql grants a node; "look" is what an observer has too. A
// missing object is not granted, and no error.
const privilegesSQL = `
WITH tables(name, privileges, look) AS (VALUES
    ('schema_version', 'SELECT', true), ('leadership', 'SELECT', true), ('leader_heartbeat', 'SELECT', true),
    ('leadership_history', 'SELECT', true), ('process', 'SELECT', true),
    ('leadership', 'INSERT,UPDATE', false), ('heartbeat', 'SELECT', true), ('heartbeat', 'INSERT,UPDATE', false), ('leadership_history', 'INSERT', false),
    ('process', 'INSERT,DELETE', false), ('command', 'SELECT,INSERT', false)
), columns(name, col) AS (VALUES
    ('process', 'last_seen'), ('process', 'scopes'), ('process', 'withdrawn'), ('process', 'lease_ms'), ('process', 'tombstoned'), ('process', 'version'), ('process', 'address'), ('process', 'settings'), ('process', 'lines_lost'), ('command', 'state'), ('command', 'result'), ('command', 'done_at')
), functions(name, look) AS (VALUES ('register', false), ('enlist', false), ('bid', false), ('refused', false), ('bury', false), ('settle', false),
    ('seen', false), ('beat', false), ('beat_process', false), ('part', false), ('evict_fences', false), ('fence', false),
    ('fence_key', true), ('obstacle', true), ('holders', true), ('row_holders', true), ('culprit', true)
), schema AS (SELECT oid FROM pg_namespace WHERE nspname = 'conch'
), class AS (SELECT oid, relname FROM pg_class WHERE relnamespace = (SELECT oid FROM schema)
), needed(name, look, has) AS (
    SELECT 'USAGE on schema conch', true, has_schema_privilege(oid, 'USAGE') FROM schema
    UNION ALL
    SELECT p || ' on conch.' || t.name, t.look, coalesce(has_table_privilege(c.oid, p), false)
      FROM tables t CROSS JOIN unnest(string_to_array(t.privileges, ',')) AS p LEFT JOIN class c ON c.relname = t.name
    UNION ALL
    SELECT format('UPDATE (%s) on conch.%s', col, name), false, coalesce(has_column_privilege(c.oid, col, 'UPDATE'), false)
      FROM columns LEFT JOIN class c ON c.relname = name
    UNION ALL
    SELECT 'EXECUTE on conch.' || f.name, f.look, coalesce((SELECT bool_or(has_function_privilege(p.oid, 'EXECUTE')) FROM pg_proc p
        WHERE p.proname = f.name AND p.pronamespace = (SELECT oid FROM schema)), false)
      FROM functions f
)
SELECT jsonb_agg(jsonb_build_object('name', name, 'look', look, 'has', has)) FROM needed`

// immortalSQL lists the login roles that may fence and whose sessions this role may not end.
const immortalSQL = `
SELECT coalesce(jsonb_agg(r.rolname ORDER BY r.rolname), '[]')
  FROM pg_roles r, pg_proc p, pg_namespace n
 WHERE n.nspname = 'conch' AND p.pronamespace = n.oid AND p.proname = 'fence'
   AND r.rolcanlogin AND NOT r.rolsuper
   AND has_function_privilege(r.oid, p.oid, 'EXECUTE') AND has_schema_privilege(r.oid, n.oid, 'USAGE')
   AND NOT pg_has_role(r.oid, 'USAGE') AND NOT pg_has_role('pg_signal_backend', 'USAGE')`

// tablesSQL lists the tables that the election needs, and all others of the schema that are secured or have rules.
const tablesSQL = `
WITH needed(name) AS (VALUES ('schema_version'), ('leadership'), ('leadership_history'), ('heartbeat'), ('process'), ('command')
), class AS (SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'conch' AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S'))
SELECT coalesce(jsonb_agg(jsonb_build_object('name', 'conch.' || coalesce(c.relname, n.name), 'kind', coalesce(c.relkind::text, ''), 'needed', n.name IS NOT NULL,
    'elsewhere', (SELECT min(format('%I.%I', s.nspname, e.relname)) FROM pg_class e JOIN pg_namespace s ON s.oid = e.relnamespace
                   WHERE c.oid IS NULL AND e.relname = n.name AND e.relkind = 'r'),
    'secured', coalesce(c.relrowsecurity, false), 'hides', coalesce(c.relrowsecurity AND row_security_active(c.oid), false),
    'rule', (SELECT min(quote_ident(r.rulename)) FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.rulename <> '_RETURN'))
    ORDER BY coalesce(c.relname, n.name)), '[]') FROM class c FULL JOIN needed n ON n.name = c.relname`

// queueSQL names the sessions with the oldest transactions, since who listens cannot be known. Those that wait for an advisory lock come
// last: conch's candidates always do.
const queueSQL = `
SELECT jsonb_build_object('usage', pg_notification_queue_usage(), 'oldest', (SELECT jsonb_agg(o) FROM (
    SELECT pid, application_name AS app, datname AS base, extract(epoch FROM clock_timestamp() - xact_start)::bigint AS seconds FROM pg_stat_activity
     WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
     ORDER BY wait_event IS NOT DISTINCT FROM 'advisory', xact_start LIMIT 3) o))`

const unloggedSQL = `
SELECT coalesce(jsonb_agg('conch.' || relname ORDER BY relname), '[]') FROM pg_class
 WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'conch') AND relkind = 'r' AND relpersistence = 'u'`

const disarmedSQL = `
SELECT coalesce(jsonb_agg(name), '[]') FROM unnest(ARRAY['announce', 'guard_epoch', 'guard_rows', 'guard_truncate']) AS name
 WHERE NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'conch' AND c.relname = 'leadership' AND t.tgname = name AND t.tgenabled IN ('O', 'A'))`

// alive lists the processes whose sessions hold their process keys.
const alive = `
WITH alive AS (
    SELECT DISTINCT (k.classid::bigint << 32) | k.objid::bigint AS process_key FROM pg_locks k
     WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ExclusiveLock'
       AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)`

const leadershipsSQL = alive + `
SELECT coalesce(jsonb_agg(jsonb_build_object(
    'scope', l.scope, 'epoch', l.epoch, 'holder', l.holder, 'process', l.process_key,
    'alive', l.process_key IN (SELECT process_key FROM alive), 'parted', l.parted_at IS NOT NULL,
    'released', l.released, 'takeover', l.takeover, 'system_id', l.system_id, 'timeline', l.timeline,
    'silent_ms', coalesce(extract(epoch FROM clock_timestamp() - coalesce(h.last_seen, l.acquired_at)) * 1000, 0)::bigint, 'lease_ms', l.lease_ms,
    'obstacle', CASE WHEN v.n <= 50 THEN coalesce(conch.obstacle(l.scope, l.lock_key), '') ELSE '' END,
    'failures', coalesce(f.failures, 0), 'last_failure', coalesce(regexp_replace(f.reason, '^the role ended: ', ''), '')) ORDER BY l.scope), '[]')
  FROM conch.leadership l LEFT JOIN conch.leader_heartbeat h ON h.provider_id = l.scope
       -- Numbers the scopes that nobody leads, since obstacles are read for 50: each takes a look into pg_locks.
       LEFT JOIN (SELECT w.scope, row_number() OVER (ORDER BY w.scope) AS n FROM conch.leadership w
                   WHERE w.parted_at IS NOT NULL OR w.process_key NOT IN (SELECT process_key FROM alive)) v ON v.scope = l.scope
       LEFT JOIN (SELECT h.scope, count(*) AS failures, (array_agg(h.reason ORDER BY h.id DESC))[1] AS reason FROM conch.leadership_history h
                   WHERE h.event = 'failed' AND h.at > clock_timestamp() - interval '10 minutes' GROUP BY h.scope) f ON f.scope = l.scope
 WHERE l.forgotten IS DISTINCT FROM l.term`

const processesSQL = alive + `
SELECT coalesce(jsonb_agg(jsonb_build_object('key', process_key, 'id', id, 'locks', locks, 'takeover', takeover, 'lost', lines_lost,
    'scopes', ARRAY(SELECT s FROM unnest(scopes) s WHERE s <> ALL (withdrawn))) ORDER BY id, process_key), '[]')
  FROM conch.process JOIN alive USING (process_key)`
