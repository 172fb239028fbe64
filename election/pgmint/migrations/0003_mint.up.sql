-- refused names the scopes for which this candidate must not bid now.
--
-- All candidates of a scope must agree on the takeover: a fast one among strict
-- ones would act while the predecessor may. So they must on the lock key, or the lock
-- would tell nobody anything. A released row agrees to any. A scope being transferred is left to its addressee for a moment; that is a courtesy,
-- so it may read the clock.
CREATE FUNCTION conch.refused(scopes text[], keys bigint[], me text, my_takeover text) RETURNS text[]
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(array_agg(l.scope), '{}')
      FROM conch.leadership l JOIN unnest(scopes, keys) AS b(scope, key) USING (scope)
     WHERE ((l.lock_key <> b.key OR l.takeover <> my_takeover) AND NOT l.released
            OR l.transfer_to NOT IN ('', me)
               -- Both bounds: a clock set back by an hour must not hold everybody off for an hour.
               AND clock_timestamp() >= l.parted_at AND clock_timestamp() < l.parted_at + interval '2 seconds')
$$;

-- bury ends the one heartbeat that stands for all terms of a process. Its caller has
-- locked rows of conch.leadership before, in scope order; keys are locked in theirs.
--
-- It waits for nobody, and answers with the processes whose rows somebody has locked: of
-- those no scope may be taken.
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

-- holders says who has an advisory key of this database: sessions, and transactions that
-- were prepared and that no session belongs to any more. candidate is true of a session
-- that campaigns, for its process key is its own. began is NULL outside of a transaction,
-- and where this role may not know.
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

-- row_holders says the same of the rows of a scope: their last lockers.
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
            BEGIN -- several share it, or it is the number of nobody any more
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

-- culprit is how one of them is told to people, with what ends it.
CREATE FUNCTION conch.culprit(pid int, app text, began timestamptz, gid text, owner text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN pid IS NULL AND gid IS NULL THEN 'a prepared transaction that has just ended'
                WHEN gid IS NOT NULL
                THEN format('prepared transaction %L of %s (its owner ends it with: ROLLBACK PREPARED %L)', gid, owner, gid)
                ELSE format('pid %s (%s)%s (to end it: SELECT pg_terminate_backend(%s))', pid, coalesce(nullif(app, ''), 'unnamed'),
                            ', in a transaction for ' || extract(epoch FROM clock_timestamp() - began)::bigint || ' s', pid) END
$$;

-- obstacle says what keeps every candidate from a scope that is free: a session, which is
-- no candidate, has its lock, its fence or its row. NULL if nothing is seen to. It reads
-- pg_locks, so it is asked only once nobody has led for a while.
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

-- bid tries every scope given, in one round trip: lock what is free, take its
-- fence alone, mint. Statements inside it see each other's effects and, being
-- READ COMMITTED, everything committed before each of them began.
--
-- A scope is free if it was given up, or if the key of its holder's process can be
-- locked: shared, so that bidders and waiters are not in each other's way. With
-- by_lock the candidate takes the lock of the scope as well, for its session; without,
-- its process key is all that it keeps. Candidates of both kinds may meet.
--
-- locked[i] says that this session holds the scope's lock already. With block_ms
-- there must be one scope only: it waits that long for the fence. evict ends those
-- transactions that have held it for longer than a lease. No bid waits for a row: one
-- that somebody has locked is passed over. Of the scopes in explain it says what stands in
-- the way, should they be free and not to be had.
--
-- A lease of nothing is a rehearsal, which its caller undoes: it uses up no number of
-- the history.
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
    new     text[];   -- seen for the first time
    another text[] := '{}'; -- and somebody else is about to write them down
    gone    bigint[]; -- processes that have ended: this transaction holds their keys
    mine    text[];   -- free, and locked if that is asked for
    free    text[];   -- and the fence is ours alone
    shut    text[];   -- the same, before the rows that somebody has locked are passed over
    beats   text[];   -- of these, the ones whose heartbeats are ours as well
    rivals  text[];   -- and somebody else has it alone, to mint
    won     text[];
    dead    bigint[]; -- whose terms that replaces
    undead  bigint[]; -- of these, processes whose rows somebody has locked
    busy    text[];
    refused text[];
    ended   jsonb;
    orphan  record;   -- a term of a process that has ended
    nobody  CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    -- How a term ended for which nobody has said farewell.
    own_again   CONSTANT text := 'its own process bid for it again';
    no_farewell CONSTANT text := 'its session ended without a farewell';
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'conch.bid must run in READ COMMITTED';
    END IF;
    -- Whoever mints under a tombstone could never renew it.
    IF NOT EXISTS (SELECT FROM conch.process p WHERE p.process_key = my_process AND NOT p.tombstoned) THEN
        RAISE EXCEPTION USING ERRCODE = 'CN002',
            MESSAGE = 'others have taken this process for dead, for the lock on its process key was free',
            HINT = 'Open a new session. Did something end or reset this one, such as pg_advisory_unlock_all or a pooler?';
    END IF;
    -- A leadership that a crash or a failover could forget is none.
    IF current_setting('synchronous_commit') <> 'remote_apply' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    -- A scope seen for the first time. On timeline 1 nothing can have been lost
    -- before; later, a promotion may have lost the row: it counts as one of timeline
    -- 1 that nobody released. The fence first: an insert waits for another's, and that may
    -- be committed in an hour.
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

    -- The key of a process is never used again: once it is free it stays free.
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

    -- All these locks only said when to try. From here on the fence and the row decide.
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
        -- A fence that can be shared is held by acts; one that cannot, by a rival.
        SELECT array_agg(t.scope) FILTER (WHERE t.got),
               array_agg(t.scope) FILTER (WHERE CASE WHEN t.got THEN false ELSE NOT pg_try_advisory_xact_lock_shared(t.key) END)
          INTO free, rivals
          FROM (SELECT m.scope, m.key, pg_try_advisory_xact_lock(m.key) AS got
                  FROM (SELECT u.scope, conch.fence_key(u.scope) AS key FROM unnest(mine) AS u(scope) OFFSET 0) m OFFSET 0) t;
    END IF;

    -- The fence is alone now, and yet the row may be locked: by a late farewell, or by a
    -- stranger. A bid that waited for it would keep the other scopes of its session waiting.
    IF free IS NOT NULL THEN
        shut := free;
        free := ARRAY(SELECT l.scope FROM conch.leadership l WHERE l.scope IN (SELECT unnest(shut))
                       ORDER BY l.scope FOR NO KEY UPDATE SKIP LOCKED);
        beats := ARRAY(SELECT h.scope FROM conch.heartbeat h WHERE h.scope = ANY (free) FOR NO KEY UPDATE SKIP LOCKED);
        IF cardinality(beats) < cardinality(free) THEN -- never led yet, or locked
            free := ARRAY(SELECT f.scope FROM unnest(free) AS f(scope)
                           WHERE f.scope = ANY (beats) OR NOT EXISTS (SELECT FROM conch.heartbeat h WHERE h.scope = f.scope));
        END IF;
        free := nullif(free, '{}');
    END IF;
    -- A bid that loses loses quickly: the winner needs the server now.
    IF free IS NOT NULL THEN
        -- Again, now that nobody else can change them. Who was refused before was not tried,
        -- so it stays refused although its time may have come meanwhile.
        refused := refused || conch.refused(scopes, keys, me, my_takeover);
        -- Nor can the holder change any more: somebody may have been minted since the look.
        SELECT array_agg(l.scope) INTO won
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
    IF won IS NOT NULL THEN
        RETURN QUERY
        WITH old AS (
            SELECT l.*, b.key, b.lease,
                   l.system_id = sys AND l.timeline = tl AND l.released AS over,
                   l.system_id = sys AND l.timeline = tl AS same
              FROM conch.leadership l JOIN unnest(scopes, keys, leases) AS b(scope, key, lease) USING (scope)
             WHERE l.scope IN (SELECT unnest(won))
        ), registered AS MATERIALIZED ( -- taken apart once, and only if anybody asks
            SELECT s.scope, max(p.lease_ms)::int AS lease FROM conch.process p CROSS JOIN unnest(p.scopes) AS s(scope)
             WHERE s.scope IN (SELECT unnest(won)) GROUP BY s.scope
        ), next AS (
            SELECT o.*,
                   -- Under another history the terms after this row's may be lost with their
                   -- epochs and leases: jump over any epoch they can have had, and wait for the
                   -- longest lease that any candidate of the scope has registered.
                   -- By the timelines between and not by the timeline itself: such jumps add up
                   -- over several failovers, and a standby that lags behind them all makes one
                   -- jump where the row that was lost had made many.
                   o.epoch + 1 + CASE WHEN o.same THEN 0
                                      WHEN o.system_id = sys THEN 1000000 * greatest(1, tl - o.timeline)
                                      ELSE 1000000 * tl
                                 END AS epoch1,
                   CASE WHEN o.over THEN 0
                        WHEN o.same THEN greatest(o.lease, o.hold_ms)
                        ELSE greatest(o.lease, o.hold_ms, (SELECT r.lease FROM registered r WHERE r.scope = o.scope))
                   END AS hold1,
                   -- What nobody led, or what was lost before it was given up, was handed over by nobody.
                   o.over AND o.epoch > 0 AND NOT o.lost AS handoff
              FROM old o
        ), minted AS (
            UPDATE conch.leadership l
               SET lock_key = n.key, epoch = n.epoch1, term = gen_random_uuid(), holder = me, lease_ms = n.lease,
                   -- A successor must assume our own lease as well, also when we waited for nobody.
                   hold_ms = greatest(n.hold1, n.lease),
                   released = false, process_key = my_process, takeover = my_takeover,
                   system_id = sys, timeline = tl, transfer_to = '',
                   acquired_at = clock_timestamp(), parted_at = NULL, lost = false
              FROM next n WHERE l.scope = n.scope
            RETURNING l.scope, l.epoch, l.term, l.lease_ms, n.hold1, n.handoff,
                      n.holder AS old_holder, n.epoch AS old_epoch, n.parted_at AS old_parted, n.process_key AS old_process
        ), beat AS (
            INSERT INTO conch.heartbeat (scope, epoch, holder, term, beat_at)
            SELECT w.scope, w.epoch, me, w.term, clock_timestamp() FROM minted w ORDER BY w.scope
                ON CONFLICT (scope) DO UPDATE
               SET epoch = excluded.epoch, holder = excluded.holder, term = excluded.term, beat_at = excluded.beat_at
        ), past AS (
            INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, beat_at)
            SELECT h.* FROM (
                SELECT w.scope, w.old_epoch, w.old_holder, 'lost',
                       CASE WHEN w.old_process = my_process THEN own_again ELSE no_farewell END, b.last_seen
                  FROM minted w LEFT JOIN conch.leader_heartbeat b ON b.provider_id = w.scope
                 WHERE w.lease_ms > 0 AND w.old_epoch > 0 AND w.old_parted IS NULL
                UNION ALL
                SELECT w.scope, w.epoch, me, 'acquired', CASE WHEN w.old_epoch = 0 THEN 'first' WHEN w.handoff THEN 'handoff' ELSE 'takeover' END, NULL
                  FROM minted w WHERE w.lease_ms > 0
            ) h ORDER BY 1, 2
        )
        SELECT w.scope, 'won', w.epoch, w.term, w.hold1, w.handoff, me, my_process, sys, tl, '', ended, 0::bigint FROM minted w;
    END IF;
    IF cardinality(won) = cardinality(scopes) THEN
        RETURN;
    END IF;

    busy := ARRAY(SELECT u.scope FROM unnest(mine) AS u(scope)
                   WHERE u.scope NOT IN (SELECT unnest(shut) UNION ALL SELECT unnest(rivals) UNION ALL SELECT unnest(refused)));

    -- The term of a process that has ended is given up for it: transactions with its token
    -- are refused from now on, so those that hold the fence are the last. Not the term of a
    -- rival who was minted since the look.
    IF busy <> '{}' THEN
        FOR orphan IN SELECT l.scope, l.term, l.process_key FROM conch.leadership l
                    WHERE l.scope IN (SELECT unnest(busy)) AND l.parted_at IS NULL AND (l.process_key = my_process OR l.process_key = ANY (gone)) LOOP
            PERFORM conch.part(my_process, ARRAY[orphan.scope], ARRAY[orphan.term], '{f}', '{f}', '{lost}',
                               ARRAY[CASE WHEN orphan.process_key = my_process THEN own_again ELSE no_farewell END], '{""}', '{""}', '{NULL}');
        END LOOP;
    END IF;

    -- A candidate that did not get the scope must not keep its lock from others.
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
           -- A scope that nobody leads has no holder, whose end could be waited for.
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

-- evict_fences ends the transactions that hold a scope's fence and began more than a lease
-- ago, and says which. It leaves alone whatever is younger, for that may be one of many
-- which come and go, and rivals, who hold the fence for a moment only and fence nothing in
-- their lock sessions. What it cannot end it names with what would. Both are history at
-- once, before the next mint. What a session said may hold anybody's secrets, and
-- the history is for ever and for all who may look: that is for the caller alone.
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
       -- What cannot be ended is told once an hour, and not with each bid.
       AND NOT EXISTS (SELECT FROM conch.leadership_history h WHERE h.scope = l.scope AND h.event = 'blocked' AND t.event = 'blocked'
                          AND h.reason = t.reason AND h.at > clock_timestamp() - interval '1 hour');
    RETURN said;
END $$;

-- settle notes of terms whose act door is open that a successor need wait for their own
-- lease only. It answers with the scopes of which that is still to be noted, for somebody
-- has locked the row: a heartbeat that waited for that would renew no term of its session.
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

-- beat renews terms. It answers with the places, from 1, of those that are still
-- current: a row under another term is never touched, nor one of another holder. It waits for
-- nobody: where r_renewed is false somebody has locked the row, and the term may be over.
-- Those of which r_owed is true were to be settled and were not: ask again.
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

-- seen notes that a process was heard of. False: it was declared dead. NULL: somebody has
-- locked its row, and nobody waits for that.
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

-- beat_process renews, in one row, every term that the process has minted and not
-- given up; r_alive is false if it was declared dead, and NULL if that cannot be told,
-- since somebody has locked the row. It settles the terms that are named, but for those of
-- the scopes in r_owed.
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

-- part records that terms were given up, and frees the session's locks on their scopes:
-- in one statement, so that those whom the commit wakes find them free. A candidate that
-- finds them free before the commit reads a row that is held.
--
-- It waits for nobody and ends nobody. It takes no fence, for the next mint takes it, and
-- passes over a row that somebody has locked. It answers for each farewell: said, over
-- (another term, or none), or locked, and by whom. Said twice it changes nothing. A lock
-- is freed with what was said or is over; the caller leaves out those of terms that it has
-- won anew.
--
-- A bare farewell leaves no trace in the history, where something may be wrong with its
-- text. A farewell that comes late, over another session than the one that led, buries
-- that one.
CREATE FUNCTION conch.part(process bigint, scopes text[], terms uuid[], ended boolean[], bare boolean[],
                           hows text[], reasons text[], actors text[], tos text[], keys bigint[])
RETURNS TABLE (r_place bigint, r_answer text, r_by text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    had     text[]; -- the scopes whose rows are ours to change
    others  bigint[]; -- processes, other than the caller, that led by them
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
        RETURN QUERY -- by whom is said of the first few: to find out reads all locks of the server
        SELECT a.place, a.answer,
               CASE WHEN row_number() OVER (ORDER BY a.place) > 3 THEN 'somebody'
                    ELSE coalesce((SELECT string_agg(conch.culprit(h.pid, h.app, h.began, h.gid, h.owner), ', ') FROM conch.row_holders(a.scope) h), 'somebody who is not seen any more') END
          FROM unnest(scopes, answers) WITH ORDINALITY AS a(scope, answer, place) WHERE a.answer = 'locked';
    END IF;
END $$;

-- register writes down who campaigns for what, before it can win anything, and
-- forgets candidates that were not seen for a day: not one whose process key is locked, for
-- the clock may have been set, or its machine have slept. A lease registered here counts
-- after a failover that lost the terms minted under it.
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

-- enlist changes what a registered candidate campaigns for. Scopes that it withdraws from
-- stay among its scopes: a term of theirs may be under way, and after a failover that forgets
-- that term its lease must still count. It waits for nobody: it returns false, having changed
-- nothing, if something has locked the candidate's row.
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

-- advance raises an epoch by hand, for instance after a restore from a backup that
-- is older than tokens still about. The term changes, so whoever led is deposed at
-- its next heartbeat; the hold stays, so a successor waits for it. Answers with the
-- epoch before.
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
    -- An epoch that a crash or a failover could forget was not raised.
    IF current_setting('synchronous_commit') <> 'remote_apply' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM pg_advisory_xact_lock(conch.fence_key(the_scope));
    SELECT * INTO l FROM conch.leadership WHERE scope = the_scope FOR UPDATE;
    IF NOT FOUND THEN
        -- Of timeline 1, as conch.bid has it: a promotion may have lost the row, and whoever
        -- led by it may act still. Released all the same, so that candidates of any takeover agree.
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
    -- A heartbeat that does not name its terms would go on for the one that is over.
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

-- forget takes a scope off the lists until it is led again, and says why not; empty: it did.
-- The row stays, and with it the epoch: a scope that began again at 1 would make old tokens
-- look current.
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
