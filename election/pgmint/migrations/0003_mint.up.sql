-- refused names the scopes for which this candidate must not bid now.
--
-- All candidates of a scope must agree on the takeover mode, since a fast one among strict ones would
-- act while the predecessor may, and on the lock key, since the lock would tell nothing otherwise. A
-- released row accepts any. For a moment after a transfer only the chosen candidate may bid. That is
-- a courtesy, so it may read the clock.
CREATE FUNCTION conch.refused(scopes text[], keys bigint[], me text, my_takeover text) RETURNS text[]
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(array_agg(l.scope), '{}')
      FROM conch.leadership l JOIN unnest(scopes, keys) AS b(scope, key) USING (scope)
     WHERE ((l.lock_key <> b.key OR l.takeover <> my_takeover) AND NOT l.released
            OR l.transfer_to NOT IN ('', me)
               -- Both bounds: a clock set back by an hour must not keep the others out for an hour.
               AND clock_timestamp() >= l.parted_at AND clock_timestamp() < l.parted_at + interval '2 seconds')
$$;

-- bury declares processes dead, and so ends their heartbeats by process. Its caller has locked rows of
-- conch.leadership before, in scope order; bury locks rows of conch.process, in key order.
--
-- It skips rows that are locked, and returns the keys of these processes: the caller must not take
-- their scopes.
CREATE FUNCTION conch.bury(processes bigint[]) RETURNS bigint[] LANGUAGE sql VOLATILE AS $$
    WITH had AS MATERIALIZED (
        SELECT d.process_key FROM conch.process d
         WHERE d.process_key = ANY (processes) AND NOT d.tombstoned ORDER BY 1 FOR NO KEY UPDATE SKIP LOCKED
    ), buried AS (
        UPDATE conch.process p SET tombstoned = true FROM had WHERE p.process_key = had.process_key
    )
    SELECT ARRAY(SELECT d.process_key FROM conch.process d
                  WHERE d.process_key = ANY (processes) AND NOT d.tombstoned AND d.process_key NOT IN (SELECT h.process_key FROM had h));
$$;

-- holders returns what holds an advisory lock of this database: sessions, and prepared transactions,
-- which have no session. candidate is true for a session that campaigns, since it also holds its
-- process key. began is NULL outside a transaction, and where this role may not read it.
CREATE FUNCTION conch.holders(key bigint)
RETURNS TABLE (pid int, app text, query text, began timestamptz, gid text, owner text, candidate boolean)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.pid, a.application_name, left(a.query, 200), coalesce(a.xact_start, p.prepared), p.gid, p.owner,
           EXISTS (SELECT FROM pg_locks o JOIN conch.process c ON c.process_key = (o.classid::bigint << 32) | o.objid::bigint
                    WHERE o.pid = l.pid AND o.locktype = 'advisory' AND o.objsubid = 1 AND o.mode = 'ExclusiveLock' AND o.granted)
      FROM pg_locks l
      LEFT JOIN pg_stat_activity a ON a.pid = l.pid
      LEFT JOIN pg_locks x ON l.pid IS NULL AND x.pid IS NULL AND x.locktype = 'transactionid' AND x.virtualtransaction = l.virtualtransaction
      LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid IS DISTINCT FROM pg_backend_pid()
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND l.classid::bigint = (key >> 32) & 4294967295 AND l.objid::bigint = key & 4294967295
$$;

-- row_holders returns the same for the rows of a scope: their latest lockers.
CREATE FUNCTION conch.row_holders(the_scope text) RETURNS TABLE (pid int, app text, began timestamptz, gid text, owner text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    locker  xid;
    lockers xid[];
BEGIN
    FOR locker IN SELECT l.xmax FROM conch.leadership l WHERE l.scope = the_scope
            UNION ALL SELECT h.xmax FROM conch.heartbeat h WHERE h.scope = the_scope LOOP
        IF EXISTS (SELECT FROM pg_locks k WHERE k.locktype = 'transactionid' AND k.transactionid = locker) THEN
            lockers := lockers || locker;
        ELSE
            BEGIN -- several share the row, or its locker has ended
                lockers := lockers || ARRAY(SELECT m.xid FROM pg_get_multixact_members(locker) m);
            EXCEPTION WHEN OTHERS THEN
                NULL;
            END;
        END IF;
    END LOOP;
    RETURN QUERY
    SELECT DISTINCT k.pid, a.application_name, coalesce(a.xact_start, p.prepared), p.gid, p.owner::text
      FROM pg_locks k LEFT JOIN pg_stat_activity a ON a.pid = k.pid LEFT JOIN pg_prepared_xacts p ON p.transaction = k.transactionid
     WHERE k.locktype = 'transactionid' AND k.granted AND k.transactionid = ANY (lockers) AND k.pid IS DISTINCT FROM pg_backend_pid();
END $$;

-- culprit describes one of these holders to people, with what ends it.
CREATE FUNCTION conch.culprit(pid int, app text, began timestamptz, gid text, owner text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN pid IS NULL AND gid IS NULL THEN 'a prepared transaction that has just ended'
                WHEN gid IS NOT NULL
                THEN format('prepared transaction %L of %s (its owner ends it with: ROLLBACK PREPARED %L)', gid, owner, gid)
                ELSE format('pid %s (%s)%s (to end it: SELECT pg_terminate_backend(%s))', pid, coalesce(nullif(app, ''), 'unnamed'),
                            ', in a transaction for ' || extract(epoch FROM clock_timestamp() - began)::bigint || ' s', pid) END
$$;

-- obstacle says what keeps every candidate from a free scope: something that is no candidate holds its
-- lock, its fence or its row. It returns NULL if it sees no such thing. It reads pg_locks, so call it
-- only once nobody has led for a while.
CREATE FUNCTION conch.obstacle(the_scope text, the_key bigint) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(o.what, '; ') FROM (SELECT DISTINCT o.what FROM (
        SELECT 'its lock key is held by ' || conch.culprit(h.pid, h.app, h.began, h.gid, h.owner) FROM conch.holders(the_key) h WHERE NOT h.candidate
        UNION ALL
        SELECT 'its fence is held by ' || conch.culprit(h.pid, h.app, h.began, h.gid, h.owner) FROM conch.holders(conch.fence_key(the_scope)) h WHERE NOT h.candidate
        UNION ALL
        SELECT 'its row is locked by ' || conch.culprit(h.pid, h.app, h.began, h.gid, h.owner) FROM conch.row_holders(the_scope) h
    ) o(what) WHERE o.what IS NOT NULL ORDER BY 1 LIMIT 3) o
$$;

-- bid tries to win all given scopes in one round trip: it locks the free ones, takes their fences
-- exclusively, and mints. Its statements see each other's effects and, in READ COMMITTED, all that
-- was committed before each of them began.
--
-- A scope is free if it was given up, or if the process key of its holder can be locked: in shared
-- mode, so that bids and waits do not block each other. With by_lock the candidate's session also
-- keeps the lock of the scope; without, only its process key. Candidates of both kinds may compete.
--
-- locked[i] says that this session already holds the lock of the scope. block_ms needs a single scope,
-- and waits at most this time for its fence. evict ends the transactions that hold the fence and began
-- more than a lease ago. No bid waits for a row: it passes over one that is locked. For scopes in
-- explain that are free and cannot be won, it returns the obstacle.
--
-- A lease of 0 is a rehearsal, which its caller undoes: it uses up no id of the history.
CREATE FUNCTION conch.bid(
    me text, my_process bigint, my_takeover text, by_lock boolean,
    scopes text[], keys bigint[], leases int[], locked boolean[], block_ms int, evict boolean, explain text[]
) RETURNS TABLE (
    r_scope text, r_outcome text, r_epoch bigint, r_term uuid, r_hold_ms int, r_handoff boolean,
    r_holder text, r_process bigint, r_system bigint, r_timeline bigint, r_why text, r_evicted jsonb,
    r_age_ms bigint -- since the holder's last heartbeat, for people
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    sys     bigint := (SELECT system_identifier FROM pg_control_system());
    -- pg_control_checkpoint() stays stale after a promotion until a checkpoint.
    tl      bigint := ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
    new     text[];   -- scopes without a row
    another text[] := ARRAY[]::text[]; -- of new, those that another transaction is about to insert
    gone    bigint[]; -- processes that have ended; this transaction holds their keys
    mine    text[];   -- scopes that are free, and locked by us if by_lock
    free    text[];   -- of mine, those whose fence we hold exclusively
    shut    text[];   -- free, before locked rows are passed over
    beats   text[];   -- of free, those whose heartbeat rows we have locked
    rivals  text[];   -- of mine, those whose fence another bid holds exclusively
    won     text[];
    lossy   boolean;  -- one of their terms was lost
    dead    bigint[]; -- processes whose terms are replaced
    undead  bigint[]; -- of dead, processes whose rows another transaction has locked
    busy    text[];
    refused text[];
    ended   jsonb;
    orphan  record;   -- a term of a process that has ended
    nobody  CONSTANT uuid := uuid '00000000-0000-0000-0000-000000000000'; -- with its type, so that no call casts a text
    -- Why a term ended without a farewell.
    own_again   CONSTANT text := 'its own process bid for it again';
    no_farewell CONSTANT text := 'its session ended without a farewell';
    outage      CONSTANT interval := interval '30 s'; -- without a leader: the history says if no candidate was there to lead
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'conch.bid must run in READ COMMITTED';
    END IF;
    -- A process with a tombstone could not renew what it mints.
    IF NOT EXISTS (SELECT FROM conch.process p WHERE p.process_key = my_process AND NOT p.tombstoned) THEN
        RAISE EXCEPTION USING ERRCODE = 'CN002',
            MESSAGE = 'others have taken this process for dead, for the lock on its process key was free',
            HINT = 'Open a new session. Did something end or reset this one, such as pg_advisory_unlock_all or a pooler?';
    END IF;
    -- While no standby is connected that could confirm a bid, each would use up an epoch in vain, so
    -- the answer is empty. A role without pg_read_all_stats sees that a standby is there, not its state.
    IF current_setting('synchronous_standby_names') <> '' THEN
        PERFORM FROM pg_stat_get_wal_senders() w WHERE w.sync_state IS NULL OR w.sync_state <> 'async';
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    -- A crash or a failover must not forget a term.
    IF current_setting('synchronous_commit') <> 'remote_apply' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    -- Insert missing rows. On timeline 1 no row can have been lost. Later, a promotion may have lost
    -- it, so it counts as a row of timeline 1 that was not released. Take the fence first: an insert
    -- would wait for the insert of another transaction, which may take an hour to commit.
    new := ARRAY(SELECT b.scope FROM unnest(scopes) AS b(scope) WHERE NOT EXISTS (SELECT FROM conch.leadership l WHERE l.scope = b.scope));
    IF new <> '{}' THEN
        another := ARRAY(SELECT n.scope FROM unnest(new) AS n(scope) WHERE NOT pg_try_advisory_xact_lock(conch.fence_key(n.scope)));
        INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released,
                                      process_key, takeover, system_id, timeline, acquired_at, parted_at)
        SELECT b.scope, b.key, 0, gen_random_uuid(), '', b.lease, 0, tl = 1,
               0, my_takeover, sys, 1, clock_timestamp(), clock_timestamp()
          FROM unnest(scopes, keys, leases) AS b(scope, key, lease)
         WHERE b.scope = ANY (new) AND b.scope <> ALL (another)
         ORDER BY b.scope
            ON CONFLICT DO NOTHING;
    END IF;

    refused := conch.refused(scopes, keys, me, my_takeover);

    -- A process key is never used again: once it is free, it stays free.
    SELECT coalesce(array_agg(k.process_key) FILTER (WHERE k.got), '{}') INTO gone
      FROM (SELECT h.process_key, pg_try_advisory_xact_lock_shared(h.process_key) AS got
              FROM (SELECT DISTINCT l.process_key FROM conch.leadership l JOIN unnest(scopes) AS b(scope) USING (scope)
                     WHERE l.parted_at IS NULL AND l.process_key <> my_process) h OFFSET 0) k;

    SELECT array_agg(t.scope) FILTER (WHERE t.got) INTO mine
      FROM (SELECT b.scope, CASE WHEN b.locked OR NOT by_lock THEN true ELSE pg_try_advisory_lock(b.key) END AS got
              FROM unnest(scopes, keys, locked) AS b(scope, key, locked) JOIN conch.leadership l USING (scope)
             WHERE b.scope NOT IN (SELECT unnest(refused)) AND b.scope <> ALL (another)
               AND (l.parted_at IS NOT NULL OR l.process_key = my_process OR l.process_key = ANY (gone))
             OFFSET 0) t;

    -- So far the locks only said when to try. From here on the fence and the row decide.
    IF block_ms > 0 AND mine IS NOT NULL THEN
        IF evict THEN
            ended := conch.evict_fences(mine[1], leases[1]);
        END IF;
        PERFORM set_config('lock_timeout', block_ms::text, true);
        BEGIN
            PERFORM pg_advisory_xact_lock(conch.fence_key(mine[1]));
            free := mine;
        EXCEPTION WHEN lock_not_available THEN
            free := NULL;
        END;
    ELSE
        -- If a fence can be shared, transactions hold it; if not, a rival that is minting does.
        SELECT array_agg(t.scope) FILTER (WHERE t.got),
               array_agg(t.scope) FILTER (WHERE CASE WHEN t.got THEN false ELSE NOT pg_try_advisory_xact_lock_shared(t.key) END)
          INTO free, rivals
          FROM (SELECT m.scope, m.key, pg_try_advisory_xact_lock(m.key) AS got
                  FROM (SELECT u.scope, conch.fence_key(u.scope) AS key FROM unnest(mine) AS u(scope) OFFSET 0) m OFFSET 0) t;
    END IF;

    -- We hold the fence, but a late farewell or a stranger may have locked the row. To wait for it
    -- would delay the other scopes of this session.
    IF free IS NOT NULL THEN
        shut := free;
        free := ARRAY(SELECT l.scope FROM conch.leadership l WHERE l.scope IN (SELECT unnest(shut))
                       ORDER BY l.scope FOR NO KEY UPDATE SKIP LOCKED);
        beats := ARRAY(SELECT h.scope FROM conch.heartbeat h WHERE h.scope = ANY (free) FOR NO KEY UPDATE SKIP LOCKED);
        IF cardinality(beats) < cardinality(free) THEN -- some were never led, or are locked
            free := ARRAY(SELECT f.scope FROM unnest(free) AS f(scope)
                           WHERE f.scope = ANY (beats) OR NOT EXISTS (SELECT FROM conch.heartbeat h WHERE h.scope = f.scope));
        END IF;
        free := nullif(free, '{}');
    END IF;
    -- A bid that loses ends early: the winner needs the server now.
    IF free IS NOT NULL THEN
        -- Check again, now that nobody else can change the rows. A scope that was refused before was
        -- not locked, so it stays refused even if it would pass now.
        refused := refused || conch.refused(scopes, keys, me, my_takeover);
        -- Check the holder again too: a rival may have won since the first look.
        SELECT array_agg(l.scope), bool_or(l.parted_at IS NULL OR l.lost) INTO won, lossy
          FROM conch.leadership l JOIN unnest(free) AS f(scope) USING (scope)
         WHERE l.scope NOT IN (SELECT unnest(refused))
           AND (l.parted_at IS NOT NULL OR l.process_key = my_process OR l.process_key = ANY (gone));
    END IF;
    IF won IS NOT NULL THEN
        dead := ARRAY(SELECT DISTINCT l.process_key FROM conch.leadership l JOIN unnest(won) AS w(scope) USING (scope)
                       WHERE l.parted_at IS NULL AND l.process_key <> my_process);
        IF dead <> '{}' THEN
            undead := conch.bury(dead);
            IF undead <> '{}' THEN
                won := nullif(ARRAY(SELECT l.scope FROM conch.leadership l WHERE l.scope IN (SELECT unnest(won))
                                       AND (l.parted_at IS NOT NULL OR l.process_key = my_process OR l.process_key <> ALL (undead))), '{}');
            END IF;
        END IF;
    END IF;
    IF won IS NOT NULL AND lossy AND 0 < ALL (leases) THEN -- a rehearsal leaves no trace
        WITH unsaid AS ( -- terms that ended without a farewell
            SELECT l.scope, l.epoch, l.holder, l.process_key, b.last_seen
              FROM conch.leadership l LEFT JOIN conch.leader_heartbeat b ON b.provider_id = l.scope
             WHERE l.scope IN (SELECT unnest(won)) AND l.epoch > 0 AND l.parted_at IS NULL
        ), vacant AS ( -- what nobody led for long, unless it was given up: then it may be that nobody wants it
            SELECT v.* FROM (
                SELECT u.scope, u.epoch, u.holder, u.last_seen FROM unsaid u
                UNION ALL -- it may have been written down long after it was lost
                SELECT l.scope, l.epoch, l.holder,
                       (SELECT e.beat_at FROM (SELECT * FROM conch.leadership_history e WHERE e.scope = l.scope ORDER BY e.id DESC LIMIT 8) e
                         WHERE e.epoch = l.epoch AND e.event = 'lost' LIMIT 1)
                  FROM conch.leadership l WHERE l.scope IN (SELECT unnest(won)) AND l.lost
            ) v(scope, epoch, holder, since) WHERE v.since < clock_timestamp() - outage AND isfinite(v.since)
        ), candidates AS ( -- of these scopes, but those that went soon after; a session may be seen each 30 s only
            SELECT v.scope, min(p.started_at) AS began
              FROM conch.process p CROSS JOIN unnest(p.scopes) AS s(scope) JOIN vacant v USING (scope)
             WHERE (SELECT count(*) FROM vacant) > 0
               AND (p.process_key = my_process OR p.last_seen > least(v.since + outage, clock_timestamp() - 1.5 * outage))
             GROUP BY v.scope
        ), alone AS (
            SELECT v.*, extract(epoch FROM c.began - v.since)::bigint AS secs
              FROM vacant v JOIN candidates c USING (scope) WHERE c.began > v.since + outage AND isfinite(c.began)
        )
        INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, beat_at)
        SELECT h.* FROM (
            SELECT u.scope, u.epoch, u.holder, 'lost', CASE WHEN u.process_key = my_process THEN own_again ELSE no_farewell END, u.last_seen
              FROM unsaid u
            UNION ALL
            SELECT a.scope, a.epoch, a.holder, 'blocked',
                   concat('for ', CASE WHEN a.secs < 120 THEN a.secs || ' s' ELSE a.secs / 60 || ' min' END, ' no candidate was connected to the database',
                          CASE WHEN pg_postmaster_start_time() > a.since THEN ', whose server was started meanwhile' END), NULL
              FROM alone a
        ) h(scope, epoch, holder, event, reason, beat_at) ORDER BY h.scope, h.epoch, h.event = 'blocked';
    END IF;
    IF won IS NOT NULL THEN
        RETURN QUERY
        WITH old AS (
            SELECT l.*, b.key, b.lease,
                   l.system_id = sys AND l.timeline = tl AND l.released AS over,
                   l.system_id = sys AND l.timeline = tl AS same
              FROM conch.leadership l JOIN unnest(scopes, keys, leases) AS b(scope, key, lease) USING (scope)
             WHERE l.scope IN (SELECT unnest(won))
        ), registered AS MATERIALIZED ( -- unnested once, and only if it is read
            SELECT s.scope, max(p.lease_ms)::int AS lease FROM conch.process p CROSS JOIN unnest(p.scopes) AS s(scope)
             WHERE s.scope IN (SELECT unnest(won)) GROUP BY s.scope
        ), next AS (
            SELECT o.*,
                   -- If the row is of another history, later terms may be lost with their epochs
                   -- and leases: jump over any epoch that they can have had, and wait for the
                   -- longest lease that a candidate of the scope has registered. The jump grows
                   -- with the timelines between: jumps add up over several failovers, and a
                   -- standby that lags behind all of them makes one where the lost row made many.
                   o.epoch + 1 + CASE WHEN o.same THEN 0
                                      WHEN o.system_id = sys THEN 1000000 * greatest(1, tl - o.timeline)
                                      ELSE 1000000 * tl
                                 END AS epoch1,
                   CASE WHEN o.over THEN 0
                        WHEN o.same THEN greatest(o.lease, o.hold_ms)
                        ELSE greatest(o.lease, o.hold_ms, (SELECT r.lease FROM registered r WHERE r.scope = o.scope))
                   END AS hold1,
                   -- Nobody handed over a scope that was never led, or lost before it was given up.
                   o.over AND o.epoch > 0 AND NOT o.lost AS handoff
              FROM old o
        ), minted AS (
            UPDATE conch.leadership l
               SET lock_key = n.key, epoch = n.epoch1, term = gen_random_uuid(), holder = me, lease_ms = n.lease,
                   -- A successor must also wait for our own lease, even if we have no hold.
                   hold_ms = greatest(n.hold1, n.lease),
                   waits_ms = CASE my_takeover WHEN 'fast' THEN 0 ELSE n.hold1 END,
                   released = false, process_key = my_process, takeover = my_takeover,
                   system_id = sys, timeline = tl, transfer_to = '',
                   acquired_at = clock_timestamp(), parted_at = NULL, lost = false
              FROM next n WHERE l.scope = n.scope
            RETURNING l.scope, l.epoch, l.term, l.lease_ms, n.hold1, n.handoff, n.epoch AS old_epoch
        ), beat AS (
            INSERT INTO conch.heartbeat (scope, epoch, holder, term, beat_at)
            SELECT w.scope, w.epoch, me, w.term, clock_timestamp() FROM minted w ORDER BY w.scope
                ON CONFLICT (scope) DO UPDATE
               SET epoch = excluded.epoch, holder = excluded.holder, term = excluded.term, beat_at = excluded.beat_at
        ), past AS (
            INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason)
            SELECT w.scope, w.epoch, me, 'acquired', CASE WHEN w.old_epoch = 0 THEN 'first' WHEN w.handoff THEN 'handoff' ELSE 'takeover' END
              FROM minted w WHERE w.lease_ms > 0 ORDER BY w.scope
        )
        SELECT w.scope, 'won', w.epoch, w.term, w.hold1, w.handoff, me, my_process, sys, tl, '', ended, 0::bigint FROM minted w;
    END IF;
    IF cardinality(won) = cardinality(scopes) THEN
        RETURN;
    END IF;

    busy := ARRAY(SELECT u.scope FROM unnest(mine) AS u(scope)
                   WHERE u.scope NOT IN (SELECT unnest(shut) UNION ALL SELECT unnest(rivals) UNION ALL SELECT unnest(refused)));

    -- Give up the term of a process that has ended: its token is refused from now on, so the
    -- transactions that hold the fence are the last. Leave the term of a rival that has won meanwhile.
    IF busy <> '{}' THEN
        FOR orphan IN SELECT l.scope, l.term, l.process_key FROM conch.leadership l
                    WHERE l.scope IN (SELECT unnest(busy)) AND l.parted_at IS NULL AND (l.process_key = my_process OR l.process_key = ANY (gone)) LOOP
            PERFORM conch.part(my_process, ARRAY[orphan.scope], ARRAY[orphan.term], '{f}', '{f}', '{lost}',
                               ARRAY[CASE WHEN orphan.process_key = my_process THEN own_again ELSE no_farewell END], '{""}', '{""}', '{NULL}');
        END LOOP;
    END IF;

    -- A scope that is neither won nor busy must not stay locked: others may want it.
    IF by_lock THEN
        PERFORM pg_advisory_unlock(b.key) FROM unnest(scopes, keys, locked) AS b(scope, key, locked)
          WHERE (b.locked OR b.scope IN (SELECT unnest(mine))) AND b.scope NOT IN (SELECT unnest(won) UNION ALL SELECT unnest(busy));
    END IF;

    RETURN QUERY
    SELECT l.scope,
           CASE WHEN l.scope IN (SELECT unnest(refused)) THEN
                    CASE WHEN l.lock_key = b.key AND l.takeover = my_takeover OR l.released
                         THEN 'yield' ELSE 'refused' END
                WHEN l.scope IN (SELECT unnest(busy)) THEN 'busy'
                WHEN why.obstacle IS NOT NULL THEN 'locked'
                ELSE 'held' END,
           l.epoch, l.term, 0, false,
           -- A scope without a leader has no holder to wait for.
           CASE WHEN vacant THEN '' ELSE l.holder END, CASE WHEN vacant THEN 0 ELSE l.process_key END, sys, tl,
           CASE WHEN l.scope IN (SELECT unnest(refused)) AND l.lock_key <> b.key AND NOT l.released
                THEN format('its candidates agreed on lock key %s, this one is set to %s; %s', l.lock_key, b.key, remedy)
                WHEN l.scope IN (SELECT unnest(refused)) AND l.takeover <> my_takeover AND NOT l.released
                THEN format('its candidates agreed on takeover %L, this one is set to %L; %s', l.takeover, my_takeover, remedy)
                ELSE coalesce(why.obstacle, '') END,
           ended,
           coalesce(extract(epoch FROM clock_timestamp() - h.last_seen) * 1000, 0)::bigint
      FROM conch.leadership l JOIN unnest(scopes, keys) AS b(scope, key) USING (scope)
           LEFT JOIN conch.leader_heartbeat h ON h.provider_id = l.scope
           CROSS JOIN LATERAL (SELECT l.parted_at IS NOT NULL OR l.process_key = my_process OR l.process_key = ANY (gone)) v(vacant)
           CROSS JOIN LATERAL (SELECT CASE WHEN l.scope = ANY (explain) AND vacant THEN conch.obstacle(l.scope, b.key) END) why(obstacle)
           CROSS JOIN LATERAL (SELECT CASE WHEN NOT vacant THEN 'release the scope (conch drain) before changing it'
               ELSE 'nobody leads it, and its last leader did not release it: start one candidate that agrees, wait until it has led for longer than a lease, and release it (conch drain); '
                 || 'then candidates that are set otherwise may lead' END) r(remedy)
     WHERE l.scope NOT IN (SELECT unnest(won)) AND l.scope <> ALL (another);
    RETURN QUERY
    SELECT b.scope, CASE WHEN why.obstacle IS NULL THEN 'held' ELSE 'locked' END, 0::bigint, nobody, 0, false,
           '', 0::bigint, sys, tl, coalesce(why.obstacle, ''), NULL::jsonb, 0::bigint
      FROM unnest(scopes, keys) AS b(scope, key)
           CROSS JOIN LATERAL (SELECT CASE WHEN b.scope = ANY (explain) THEN conch.obstacle(b.scope, b.key) END) why(obstacle)
     WHERE b.scope = ANY (another);
END $$;

-- evict_fences ends the transactions that hold a scope's fence and began more than a lease ago, and
-- returns them. It spares younger ones, which may be one of a stream that comes and goes, and
-- candidates, which hold the fence only for a moment. It names what it cannot end, with what would.
-- The history records both at once, before the next mint. Only the caller gets the query of a
-- session: a query may hold secrets, and the history is kept for ever and read by many.
CREATE FUNCTION conch.evict_fences(scope text, lease_ms int) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET client_min_messages = error AS $$
DECLARE
    lease   interval := lease_ms * interval '1 millisecond';
    said    jsonb := '[]';
    gone    boolean;
    why     text;
    evicted text;
    blocked text;
    b       record;
BEGIN
    FOR b IN SELECT h.* FROM conch.holders(conch.fence_key(scope)) h
              WHERE NOT h.candidate AND (h.began IS NULL OR h.began < clock_timestamp() - lease) LOOP
        gone := false;
        why := 'it is in no transaction, or this role may not know since when: a member of pg_read_all_stats may';
        IF b.gid IS NOT NULL THEN
            why := 'no session is left to end';
        ELSIF b.began IS NOT NULL THEN
            BEGIN
                CONTINUE WHEN NOT pg_terminate_backend(b.pid); -- it has ended by itself
                gone := true;
            EXCEPTION WHEN insufficient_privilege THEN
                why := SQLERRM || ': a member of pg_signal_backend may';
            END;
        END IF;
        said := said || jsonb_build_object('pid', coalesce(b.pid, 0), 'query', coalesce(b.query, ''), 'ended', gone,
                                           'what', CASE WHEN gone THEN format('pid %s (%s)', b.pid, b.app)
                                                        ELSE conch.culprit(b.pid, b.app, b.began, b.gid, b.owner) || ', not ended: ' || why END);
        IF gone THEN
            evicted := concat_ws(', ', evicted, format('pid %s (%s)', b.pid, b.app));
        ELSE
            blocked := concat_ws(', ', blocked, conch.culprit(b.pid, b.app, NULL, b.gid, b.owner) || ', not ended: ' || why);
        END IF;
    END LOOP;
    INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason)
    SELECT l.scope, l.epoch, l.holder, t.event, t.reason
      FROM conch.leadership l, (VALUES ('evicted', 'ended for holding its fence: ' || evicted), ('blocked', 'its fence is held by ' || blocked)) t(event, reason)
     WHERE l.scope = evict_fences.scope AND t.reason IS NOT NULL
       -- Record what cannot be ended once an hour, not with each bid.
       AND NOT EXISTS (SELECT FROM conch.leadership_history h WHERE h.scope = l.scope AND h.event = 'blocked' AND t.event = 'blocked'
                          AND h.reason = t.reason AND h.at > clock_timestamp() - interval '1 hour');
    RETURN said;
END $$;

-- settle records, for terms whose act door is open, that a successor must wait only for their own
-- lease. It returns the scopes that are not settled yet, since their row is locked: a heartbeat that
-- waited for the row would renew no term of its session.
CREATE FUNCTION conch.settle(scopes text[], terms uuid[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    WITH free AS MATERIALIZED (
        SELECT l.scope FROM conch.leadership l JOIN unnest(scopes, terms) AS b(scope, term) USING (scope, term)
         WHERE l.hold_ms <> l.lease_ms ORDER BY l.scope FOR NO KEY UPDATE OF l SKIP LOCKED
    )
    UPDATE conch.leadership l SET hold_ms = l.lease_ms FROM free f WHERE l.scope = f.scope;
    RETURN ARRAY(SELECT l.scope FROM conch.leadership l JOIN unnest(scopes, terms) AS b(scope, term) USING (scope, term)
                  WHERE l.hold_ms <> l.lease_ms);
END $$;

-- beat renews terms. It returns the places, from 1, of those that are still current, and changes no
-- row of another term. It waits for no row: if r_renewed is false, the row is locked and the term may
-- be over. If r_owed is true, the term is still to be settled: ask again.
CREATE FUNCTION conch.beat(scopes text[], terms uuid[], settle boolean[]) RETURNS TABLE (r_place bigint, r_renewed boolean, r_owed boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    owed text[] := '{}';
    had  text[];
BEGIN
    IF current_setting('synchronous_commit') <> 'remote_apply' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF true = ANY (settle) THEN
        SELECT conch.settle(array_agg(b.scope), array_agg(b.term)) INTO owed
          FROM unnest(scopes, terms, settle) AS b(scope, term, settle) WHERE b.settle;
    END IF;
    had := ARRAY(SELECT h.scope FROM conch.heartbeat h WHERE h.scope IN (SELECT unnest(scopes)) FOR NO KEY UPDATE SKIP LOCKED);
    RETURN QUERY
    UPDATE conch.heartbeat h SET beat_at = clock_timestamp()
      FROM unnest(scopes, terms) WITH ORDINALITY AS b(scope, term, place)
     WHERE h.scope = b.scope AND h.term = b.term AND h.scope IN (SELECT unnest(had))
    RETURNING b.place, true, b.scope = ANY (owed);
    IF cardinality(had) < cardinality(scopes) THEN
        RETURN QUERY
        SELECT b.place, false, b.scope = ANY (owed)
          FROM unnest(scopes, terms) WITH ORDINALITY AS b(scope, term, place) JOIN conch.heartbeat h USING (scope, term)
         WHERE b.scope NOT IN (SELECT unnest(had));
    END IF;
END $$;

-- seen records that a process lives. It returns false if the process was declared dead, and NULL,
-- without waiting, if its row is locked.
CREATE FUNCTION conch.seen(process bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM conch.process p WHERE p.process_key = process AND NOT p.tombstoned FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE conch.process p SET last_seen = clock_timestamp() WHERE p.process_key = process;
        RETURN true;
    END IF;
    IF EXISTS (SELECT FROM conch.process p WHERE p.process_key = process AND NOT p.tombstoned) THEN
        RETURN NULL;
    END IF;
    RETURN false;
END $$;

-- beat_process renews, in one row, every term that the process has minted and not given up. r_alive is
-- what conch.seen returns. It settles the terms that are named, except those of the scopes in r_owed.
CREATE FUNCTION conch.beat_process(process bigint, scopes text[], terms uuid[]) RETURNS TABLE (r_alive boolean, r_owed text[])
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    r_owed := '{}';
    IF current_setting('synchronous_commit') <> 'remote_apply' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF cardinality(scopes) > 0 THEN
        r_owed := conch.settle(scopes, terms);
    END IF;
    r_alive := conch.seen(process);
    RETURN NEXT;
END $$;

-- part records that terms were given up and frees the session's locks on their scopes, in one
-- statement, so that candidates that the commit wakes find them free. A candidate that finds them
-- free before the commit reads a row that is held.
--
-- It waits for nothing and ends no session. It takes no fence, since the next mint takes it, and passes
-- over a row that is locked. It answers each farewell with said, over (another term, or none), or
-- locked, and by whom. A repeated farewell changes nothing. Only said and over free the lock; the
-- caller leaves out the locks of scopes that it has won again.
--
-- A bare farewell is not in the history, since its text may be what fails. A late farewell, over
-- another session than the one that led, declares the process of that one dead.
CREATE FUNCTION conch.part(process bigint, scopes text[], terms uuid[], ended boolean[], bare boolean[],
                           hows text[], reasons text[], actors text[], tos text[], keys bigint[])
RETURNS TABLE (r_place bigint, r_answer text, r_by text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    had     text[]; -- the scopes whose rows we have locked
    others  bigint[]; -- the other processes that hold these scopes
    answers text[];
BEGIN
    had := ARRAY(SELECT l.scope FROM conch.leadership l JOIN unnest(scopes, terms, ended) AS b(scope, term, ended) USING (scope, term)
                  WHERE l.parted_at IS NULL OR b.ended AND NOT l.released
                  ORDER BY l.scope FOR NO KEY UPDATE OF l SKIP LOCKED);
    others := ARRAY(SELECT DISTINCT l.process_key FROM conch.leadership l
                     WHERE l.scope IN (SELECT unnest(had)) AND l.parted_at IS NULL AND l.process_key <> process);
    IF others <> '{}' THEN
        others := conch.bury(others);
        had := ARRAY(SELECT l.scope FROM conch.leadership l
                      WHERE l.scope IN (SELECT unnest(had)) AND (l.parted_at IS NOT NULL OR l.process_key <> ALL (others)));
    END IF;
    WITH gone AS (
        UPDATE conch.leadership l
           SET released = b.ended, parted_at = clock_timestamp(), transfer_to = b.to_id, lost = b.how = 'lost'
          FROM unnest(scopes, terms, ended, bare, hows, reasons, actors, tos)
               AS b(scope, term, ended, bare, how, reason, actor, to_id)
         WHERE l.scope = b.scope AND l.term = b.term AND l.scope IN (SELECT unnest(had))
        RETURNING l.scope, l.epoch, l.holder, l.lease_ms, b.ended, b.bare, b.how, b.reason, b.actor, b.to_id
    )
    INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, actor, beat_at)
    SELECT g.scope, g.epoch, g.holder,
           CASE WHEN g.how <> '' THEN g.how WHEN g.to_id <> '' THEN 'transferred' WHEN g.actor <> '' THEN 'drained'
                WHEN g.ended THEN 'released' ELSE 'lost' END,
           g.reason, g.actor, CASE WHEN g.how = 'lost' THEN h.last_seen END
      FROM gone g LEFT JOIN conch.leader_heartbeat h ON h.provider_id = g.scope
     WHERE g.lease_ms > 0 AND NOT g.bare ORDER BY g.scope;
    answers := ARRAY(SELECT CASE WHEN l.term IS DISTINCT FROM b.term THEN 'over'
                                 WHEN l.parted_at IS NOT NULL AND (l.released OR NOT b.ended) THEN 'said'
                                 ELSE 'locked' END
                       FROM unnest(scopes, terms, ended) WITH ORDINALITY AS b(scope, term, ended, place)
                       LEFT JOIN conch.leadership l USING (scope) ORDER BY b.place);
    PERFORM pg_advisory_unlock(k.key) FROM unnest(keys, answers) AS k(key, answer) WHERE k.key IS NOT NULL AND k.answer <> 'locked';
    RETURN QUERY SELECT a.place, a.answer, '' FROM unnest(answers) WITH ORDINALITY AS a(answer, place) WHERE a.answer <> 'locked';
    IF 'locked' = ANY (answers) THEN
        RETURN QUERY -- only the first three are told by whom: that reads all locks of the server
        SELECT a.place, a.answer,
               CASE WHEN row_number() OVER (ORDER BY a.place) > 3 THEN 'somebody'
                    ELSE coalesce((SELECT string_agg(conch.culprit(h.pid, h.app, h.began, h.gid, h.owner), ', ') FROM conch.row_holders(a.scope) h), 'somebody who is not seen any more') END
          FROM unnest(scopes, answers) WITH ORDINALITY AS a(scope, answer, place) WHERE a.answer = 'locked';
    END IF;
END $$;

-- register records a candidate before it can win a scope, and deletes candidates that were not seen
-- for a day, unless their process key is locked: the clock may have been set, or a machine may have
-- slept. A registered lease counts after a failover that lost the terms minted with it.
CREATE FUNCTION conch.register(process bigint, me text, my_scopes text[], my_lease_ms bigint, my_takeover text, my_locks text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    DELETE FROM conch.process p
     WHERE p.process_key IN (SELECT o.process_key FROM conch.process o WHERE o.last_seen < clock_timestamp() - interval '1 day' FOR UPDATE SKIP LOCKED)
       AND NOT EXISTS (SELECT FROM pg_locks k
            WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ExclusiveLock'
              AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND (k.classid::bigint << 32) | k.objid::bigint = p.process_key);
    INSERT INTO conch.process (process_key, id, scopes, lease_ms, takeover, locks)
    VALUES (process, me, coalesce(my_scopes, '{}'), my_lease_ms, my_takeover, my_locks);
$$;

-- enlist changes what a registered candidate campaigns for. Scopes that it withdraws from stay among
-- its scopes: they may have a term, whose lease must count after a failover that forgets it. If the
-- candidate's row is locked, enlist does not wait: it changes nothing and returns false.
CREATE FUNCTION conch.enlist(process bigint, more text[], fewer text[], my_lease_ms bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    WITH free AS (SELECT p.process_key FROM conch.process p WHERE p.process_key = process FOR NO KEY UPDATE SKIP LOCKED),
    changed AS (
        UPDATE conch.process p
           SET scopes = ARRAY(SELECT s FROM unnest(p.scopes) s UNION SELECT s FROM unnest(more) s),
               withdrawn = ARRAY((SELECT s FROM unnest(p.withdrawn) s UNION SELECT s FROM unnest(fewer) s) EXCEPT SELECT s FROM unnest(more) s),
               lease_ms = greatest(p.lease_ms, my_lease_ms)
          FROM free WHERE p.process_key = free.process_key
     RETURNING p.process_key)
    SELECT count(*) = 1 FROM changed
$$;

-- advance raises an epoch by hand, for example after a restore from a backup that is older than tokens
-- in use, and returns the epoch before. The term changes, so the leader is deposed at its next
-- heartbeat. The hold stays, so a successor waits for it.
CREATE FUNCTION conch.advance(the_scope text, to_epoch bigint, who text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l conch.leadership;
BEGIN
    IF to_epoch > 4611686018427387904 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
            MESSAGE = format('epoch %s is above 2^62, 4611686018427387904', to_epoch),
            HINT = 'Name a lower one: bids count on from it, and an epoch is a 64-bit number.';
    END IF;
    -- A crash or a failover must not forget the new epoch.
    IF current_setting('synchronous_commit') <> 'remote_apply' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM pg_advisory_xact_lock(conch.fence_key(the_scope));
    SELECT * INTO l FROM conch.leadership WHERE scope = the_scope FOR UPDATE;
    IF NOT FOUND THEN
        -- A row of timeline 1, as in conch.bid: a promotion may have lost the row, and its leader may
        -- still act. It is released all the same, so that it accepts any takeover mode.
        INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released,
                                      process_key, takeover, system_id, timeline, acquired_at, parted_at)
        VALUES (the_scope, conch.lock_key(the_scope), to_epoch, gen_random_uuid(), '', 0, 0, true, 0, 'strict',
                (SELECT system_identifier FROM pg_control_system()), 1, clock_timestamp(), clock_timestamp());
        INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, actor)
        VALUES (the_scope, 0, '', 'evicted', format('epoch advanced to %s by hand', to_epoch), who);
        RETURN 0;
    END IF;
    IF to_epoch <= l.epoch THEN
        RETURN l.epoch;
    END IF;
    -- A heartbeat by process does not name its terms, and would go on for the one that is over.
    IF l.parted_at IS NULL THEN
        IF conch.bury(ARRAY(SELECT p.process_key FROM conch.process p WHERE p.process_key = l.process_key AND p.locks = 'process')) <> '{}' THEN
            RAISE EXCEPTION USING ERRCODE = 'lock_not_available', MESSAGE = format('somebody has locked the row of process %s in conch.process', l.process_key);
        END IF;
    END IF;
    UPDATE conch.leadership o SET epoch = to_epoch, term = n.term, parted_at = clock_timestamp(),
           released = l.released AND l.parted_at IS NOT NULL,
           forgotten = CASE WHEN l.forgotten = l.term THEN n.term END
      FROM (SELECT gen_random_uuid() AS term) n
     WHERE o.scope = the_scope;
    UPDATE conch.heartbeat h SET term = n.term, epoch = n.epoch
      FROM conch.leadership n WHERE n.scope = the_scope AND h.scope = n.scope;
    INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, actor)
    VALUES (the_scope, l.epoch, l.holder, 'evicted', format('epoch advanced to %s by hand', to_epoch), who);
    RETURN l.epoch;
END $$;

-- forget hides a scope from lists until it is led again, and returns '' or why it did not. The row and
-- its epoch stay: a scope that began again at epoch 1 would make old tokens look current.
CREATE FUNCTION conch.forget(the_scope text) RETURNS text LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l conch.leadership;
    who text;
BEGIN
    SELECT * INTO l FROM conch.leadership WHERE scope = the_scope FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'there is none of that name';
    ELSIF l.parted_at IS NULL THEN
        RETURN format('%s leads it, or has not given it up; drain it first', l.holder);
    END IF;
    SELECT string_agg(p.id, ', ' ORDER BY p.id) INTO who FROM conch.process p
     WHERE the_scope = ANY (p.scopes) AND the_scope <> ALL (p.withdrawn)
       AND EXISTS (SELECT FROM pg_locks k WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ExclusiveLock'
                      AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                      AND ((k.classid::bigint << 32) | k.objid::bigint) = p.process_key);
    IF who IS NOT NULL THEN
        RETURN format('%s campaign for it; take it out of their configuration first', who);
    END IF;
    UPDATE conch.leadership SET forgotten = term WHERE scope = the_scope;
    RETURN '';
END $$;
