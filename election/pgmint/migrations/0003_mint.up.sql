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
CREATE FUNCTION conch.bury(processes bigint[]) RETURNS void LANGUAGE sql VOLATILE AS $$
    UPDATE conch.process p SET tombstoned = true
      FROM (SELECT d.process_key FROM conch.process d
             WHERE d.process_key = ANY (processes) AND NOT d.tombstoned ORDER BY 1 FOR NO KEY UPDATE) d
     WHERE p.process_key = d.process_key;
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
-- there must be one scope only: it waits that long for the fence. evict ends the
-- sessions that hold it.
--
-- A lease of nothing is a rehearsal, which its caller undoes: it uses up no number of
-- the history.
CREATE FUNCTION conch.bid(
    me text, my_process bigint, my_takeover text, by_lock boolean,
    scopes text[], keys bigint[], leases int[], locked boolean[], block_ms int, evict boolean
) RETURNS TABLE (
    r_scope text, r_outcome text, r_epoch bigint, r_term uuid, r_hold_ms int, r_handoff boolean,
    r_holder text, r_process bigint, r_system bigint, r_timeline bigint, r_why text, r_evicted jsonb,
    r_age_ms bigint -- since the holder's last heartbeat, for people
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    sys     bigint := (SELECT system_identifier FROM pg_control_system());
    -- pg_control_checkpoint() stays stale after a promotion until a checkpoint.
    tl      bigint := ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
    gone    bigint[]; -- processes that have ended: this transaction holds their keys
    mine    text[];   -- free, and locked if that is asked for
    free    text[];   -- and the fence is ours alone
    rivals  text[];   -- and somebody else has it alone, to mint
    won     text[];
    dead    bigint[]; -- whose terms that replaces
    busy    text[];
    refused text[];
    ended   jsonb;
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
    -- 1 that nobody released.
    INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released,
                                  process_key, takeover, system_id, timeline, acquired_at, parted_at)
    SELECT b.scope, b.key, 0, gen_random_uuid(), '', b.lease, 0, tl = 1,
           0, my_takeover, sys, 1, clock_timestamp(), clock_timestamp()
      FROM unnest(scopes, keys, leases) AS b(scope, key, lease)
     WHERE NOT EXISTS (SELECT FROM conch.leadership l WHERE l.scope = b.scope)
     ORDER BY b.scope
        ON CONFLICT DO NOTHING;

    refused := conch.refused(scopes, keys, me, my_takeover);

    -- The key of a process is never used again: once it is free it stays free.
    SELECT coalesce(array_agg(k.process_key) FILTER (WHERE k.got), '{}') INTO gone
      FROM (SELECT h.process_key, pg_try_advisory_xact_lock_shared(h.process_key) AS got
              FROM (SELECT DISTINCT l.process_key FROM conch.leadership l JOIN unnest(scopes) AS b(scope) USING (scope)
                     WHERE l.parted_at IS NULL AND l.process_key <> my_process) h OFFSET 0) k;

    SELECT array_agg(t.scope) FILTER (WHERE t.got) INTO mine
      FROM (SELECT b.scope, CASE WHEN b.locked OR NOT by_lock THEN true ELSE pg_try_advisory_lock(b.key) END AS got
              FROM unnest(scopes, keys, locked) AS b(scope, key, locked) JOIN conch.leadership l USING (scope)
             WHERE b.scope NOT IN (SELECT unnest(refused))
               AND (l.parted_at IS NOT NULL OR l.process_key = my_process OR l.process_key = ANY (gone))
             OFFSET 0) t;

    -- All these locks only said when to try. From here on the fence and the row decide.
    IF block_ms > 0 AND mine IS NOT NULL THEN
        IF evict THEN
            ended := conch.evict_fences(mine[1]);
        END IF;
        PERFORM set_config('lock_timeout', block_ms::text, true);
        BEGIN
            PERFORM pg_advisory_xact_lock(conch.fence_key(mine[1]));
            free := mine;
        EXCEPTION WHEN lock_not_available THEN
            free := NULL;
        END;
    ELSE
        -- A fence that can be shared is held by acts; one that can not, by a rival.
        SELECT array_agg(t.scope) FILTER (WHERE t.got),
               array_agg(t.scope) FILTER (WHERE CASE WHEN t.got THEN false ELSE NOT pg_try_advisory_xact_lock_shared(t.key) END)
          INTO free, rivals
          FROM (SELECT m.scope, m.key, pg_try_advisory_xact_lock(m.key) AS got
                  FROM (SELECT u.scope, conch.fence_key(u.scope) AS key FROM unnest(mine) AS u(scope) OFFSET 0) m OFFSET 0) t;
    END IF;

    -- Whoever loses, loses quickly: the winner needs the server now.
    IF free IS NOT NULL THEN
        PERFORM FROM conch.leadership l WHERE l.scope IN (SELECT unnest(free)) ORDER BY l.scope FOR UPDATE;
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
            PERFORM conch.bury(dead);
        END IF;

        RETURN QUERY
        WITH old AS (
            SELECT l.*, b.key, b.lease,
                   l.system_id = sys AND l.timeline = tl AND l.released AS handoff,
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
                   CASE WHEN o.handoff THEN 0
                        WHEN o.same THEN greatest(o.lease, o.hold_ms)
                        ELSE greatest(o.lease, o.hold_ms, (SELECT r.lease FROM registered r WHERE r.scope = o.scope))
                   END AS hold1
              FROM old o
        ), minted AS (
            UPDATE conch.leadership l
               SET lock_key = n.key, epoch = n.epoch1, term = gen_random_uuid(), holder = me, lease_ms = n.lease,
                   -- A successor must assume our own lease as well, also when we waited for nobody.
                   hold_ms = greatest(n.hold1, n.lease),
                   released = false, process_key = my_process, takeover = my_takeover,
                   system_id = sys, timeline = tl, transfer_to = '',
                   acquired_at = clock_timestamp(), parted_at = NULL
              FROM next n WHERE l.scope = n.scope
            RETURNING l.scope, l.epoch, l.term, l.lease_ms, n.hold1, n.handoff,
                      n.holder AS old_holder, n.epoch AS old_epoch, n.parted_at AS old_parted, n.process_key AS old_process
        ), beat AS (
            INSERT INTO conch.heartbeat (scope, epoch, holder, term, beat_at)
            SELECT w.scope, w.epoch, me, w.term, clock_timestamp() FROM minted w ORDER BY w.scope
                ON CONFLICT (scope) DO UPDATE
               SET epoch = excluded.epoch, holder = excluded.holder, term = excluded.term, beat_at = excluded.beat_at
        ), past AS (
            INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason)
            SELECT h.* FROM (
                SELECT w.scope, w.old_epoch, w.old_holder, 'lost',
                       CASE WHEN w.old_process = my_process THEN 'its own process bid for it again'
                            ELSE 'its session ended without a farewell' END
                  FROM minted w WHERE w.lease_ms > 0 AND w.old_epoch > 0 AND w.old_parted IS NULL
                UNION ALL
                SELECT w.scope, w.epoch, me, 'acquired', CASE WHEN w.old_epoch = 0 THEN 'first' WHEN w.handoff THEN 'handoff' ELSE 'takeover' END
                  FROM minted w WHERE w.lease_ms > 0
            ) h ORDER BY 1, 2
        )
        SELECT w.scope, 'won', w.epoch, w.term, w.hold1, w.handoff, me, my_process, sys, tl, '', ended, 0::bigint FROM minted w;
    END IF;
    IF cardinality(won) = cardinality(scopes) THEN
        RETURN;
    END IF;

    busy := ARRAY(SELECT u.scope FROM unnest(mine) AS u(scope)
                   WHERE u.scope NOT IN (SELECT unnest(free) UNION ALL SELECT unnest(rivals) UNION ALL SELECT unnest(refused)));

    -- Whoever did not get the scope must not keep its lock from others.
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
                ELSE 'held' END,
           l.epoch, l.term, 0, false, l.holder, l.process_key, sys, tl,
           CASE WHEN l.released THEN ''
                WHEN l.lock_key <> b.key
                THEN format('its candidates agreed on lock key %s, this one is set to %s; %s', l.lock_key, b.key, remedy)
                WHEN l.takeover <> my_takeover
                THEN format('its candidates agreed on takeover %L, this one is set to %L; %s', l.takeover, my_takeover, remedy)
                ELSE '' END,
           ended,
           coalesce(extract(epoch FROM clock_timestamp() - h.last_seen) * 1000, 0)::bigint
      FROM conch.leadership l JOIN unnest(scopes, keys) AS b(scope, key) USING (scope)
           LEFT JOIN conch.leader_heartbeat h ON h.provider_id = l.scope
           CROSS JOIN LATERAL (SELECT CASE WHEN l.parted_at IS NULL THEN 'release the scope (conch drain) before changing it'
               ELSE 'it was given up without a release, so let one that agrees lead it for a lease, and release it (conch drain), before changing it' END) r(remedy)
     WHERE l.scope NOT IN (SELECT unnest(won));
END $$;

-- evict_fences ends the sessions that hold a scope's fence, and says which: not those
-- of rivals, who hold it for a moment only and fence nothing in their lock sessions.
-- It is history at once, whoever is minted afterwards; asked again about a session
-- that does not end, it says so once. What a session said may hold anybody's secrets, and
-- the history is for ever and for all who may look: that is for the caller alone.
CREATE FUNCTION conch.evict_fences(scope text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k      bigint := conch.fence_key(scope);
    said   jsonb := '[]';
    failed text;
    told   text;
    b      record;
BEGIN
    FOR b IN
        SELECT a.pid, a.application_name AS app, left(a.query, 200) AS query FROM pg_locks l JOIN pg_stat_activity a USING (pid)
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid <> pg_backend_pid()
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND l.classid::bigint = (k >> 32) & 4294967295 AND l.objid::bigint = k & 4294967295
           AND NOT EXISTS (SELECT FROM pg_locks o JOIN conch.process p ON p.process_key = (o.classid::bigint << 32) | o.objid::bigint
                            WHERE o.pid = l.pid AND o.locktype = 'advisory' AND o.objsubid = 1 AND o.mode = 'ExclusiveLock' AND o.granted)
    LOOP
        failed := '';
        BEGIN
            PERFORM pg_terminate_backend(b.pid);
        EXCEPTION WHEN insufficient_privilege THEN
            failed := ' [not ended: ' || SQLERRM || ']';
        END;
        said := said || jsonb_build_object('pid', b.pid, 'query', b.query || failed);
        told := concat_ws(', ', told, format('pid %s (%s)%s', b.pid, b.app, failed));
    END LOOP;
    INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason)
    SELECT l.scope, l.epoch, l.holder, 'evicted', 'ended for holding its fence: ' || told
      FROM conch.leadership l
      LEFT JOIN LATERAL (SELECT h.reason FROM conch.leadership_history h WHERE h.scope = l.scope ORDER BY h.id DESC LIMIT 1) last ON true
     WHERE l.scope = evict_fences.scope AND told IS NOT NULL AND 'ended for holding its fence: ' || told IS DISTINCT FROM last.reason;
    RETURN said;
END $$;

-- settle notes of terms whose act door is open that a successor need wait for their own
-- lease only. It answers with the scopes of which that is still to be noted: a fence in a
-- transaction with an old snapshot shares the row until its commit, which takes as long as it
-- takes, and a heartbeat that waited for it would renew no term of its session.
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
-- current: a row under another term is never touched, whoever its holder is. Those of
-- which r_owed is true were to be settled and were not: ask again.
CREATE FUNCTION conch.beat(scopes text[], terms uuid[], settle boolean[]) RETURNS TABLE (r_place bigint, r_owed boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    owed text[] := '{}';
BEGIN
    IF current_setting('synchronous_commit') <> 'remote_apply' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF true = ANY (settle) THEN
        SELECT conch.settle(array_agg(b.scope), array_agg(b.term)) INTO owed
          FROM unnest(scopes, terms, settle) AS b(scope, term, settle) WHERE b.settle;
    END IF;
    -- In scope order, as the mint locks them.
    PERFORM FROM conch.heartbeat h WHERE h.scope IN (SELECT unnest(scopes)) ORDER BY h.scope FOR NO KEY UPDATE;
    RETURN QUERY
    UPDATE conch.heartbeat h SET beat_at = clock_timestamp()
      FROM unnest(scopes, terms) WITH ORDINALITY AS b(scope, term, place)
     WHERE h.scope = b.scope AND h.term = b.term
    RETURNING b.place, b.scope = ANY (owed);
END $$;

-- beat_process renews, in one row, every term that the process has minted and not
-- given up; r_alive is false if it was declared dead. It settles the terms that are named,
-- but for those of the scopes in r_owed.
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
    UPDATE conch.process p SET last_seen = clock_timestamp() WHERE p.process_key = process AND NOT p.tombstoned;
    r_alive := FOUND;
    RETURN NEXT;
END $$;

-- part records that terms were given up, and frees the session's locks on their scopes:
-- in one statement, so that those whom the commit wakes find them free. Whoever finds
-- them free before the commit reads a row that is held. A farewell that comes
-- late, over another session than the one that led, buries that one.
CREATE FUNCTION conch.part(process bigint, scopes text[], terms uuid[], ended boolean[], reasons text[], actors text[], tos text[], keys bigint[])
RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    others bigint[];
BEGIN
    PERFORM FROM conch.leadership l WHERE l.scope IN (SELECT unnest(scopes)) ORDER BY l.scope FOR UPDATE;
    others := ARRAY(SELECT DISTINCT l.process_key FROM conch.leadership l JOIN unnest(scopes, terms) AS b(scope, term) USING (scope)
                     WHERE l.term = b.term AND l.parted_at IS NULL AND l.process_key <> process);
    IF others <> '{}' THEN
        PERFORM conch.bury(others);
    END IF;
    RETURN QUERY
    WITH gone AS (
        UPDATE conch.leadership l
           SET released = b.ended, parted_at = clock_timestamp(), transfer_to = b.to_id
          FROM unnest(scopes, terms, ended, reasons, actors, tos)
               AS b(scope, term, ended, reason, actor, to_id)
         WHERE l.scope = b.scope AND l.term = b.term
        RETURNING l.scope, l.epoch, l.holder, l.lease_ms, b.ended, b.reason, b.actor, b.to_id
    ), past AS (
        INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, actor)
        SELECT g.scope, g.epoch, g.holder,
               CASE WHEN g.to_id <> '' THEN 'transferred' WHEN g.actor <> '' THEN 'drained'
                    WHEN g.ended THEN 'released' ELSE 'lost' END,
               g.reason, g.actor
          FROM gone g WHERE g.lease_ms > 0 ORDER BY g.scope
    )
    SELECT g.scope FROM gone g;
    PERFORM pg_advisory_unlock(k) FROM unnest(keys) AS k;
END $$;

-- register writes down who campaigns for what, before it can win anything, and
-- forgets candidates that were not seen for a day: not one whose process key is locked, for
-- the clock may have been set, or its machine have slept. A lease registered here counts
-- after a failover that lost the terms minted under it.
CREATE FUNCTION conch.register(process bigint, me text, my_scopes text[], my_lease_ms bigint, my_takeover text, my_locks text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    DELETE FROM conch.process p
     WHERE p.last_seen < clock_timestamp() - interval '1 day'
       AND NOT EXISTS (SELECT FROM pg_locks k
            WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ExclusiveLock'
              AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND (k.classid::bigint << 32) | k.objid::bigint = p.process_key);
    INSERT INTO conch.process (process_key, id, scopes, lease_ms, takeover, locks)
    VALUES (process, me, coalesce(my_scopes, '{}'), my_lease_ms, my_takeover, my_locks);
$$;

-- withdraw takes a candidate off the lists of some of its scopes. They stay among
-- its scopes all the same: a term of it may be under way, and after a failover that
-- forgets this term its lease must still count.
CREATE FUNCTION conch.withdraw(process bigint, my_scopes text[]) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    UPDATE conch.process p
       SET withdrawn = ARRAY(SELECT s FROM unnest(p.withdrawn) s UNION SELECT s FROM unnest(my_scopes) s)
     WHERE p.process_key = process;
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
        PERFORM conch.bury(ARRAY(SELECT p.process_key FROM conch.process p WHERE p.process_key = l.process_key AND p.locks = 'process'));
    END IF;
    UPDATE conch.leadership SET epoch = to_epoch, term = gen_random_uuid(), parted_at = clock_timestamp(),
           released = l.released AND l.parted_at IS NOT NULL
     WHERE scope = the_scope;
    UPDATE conch.heartbeat h SET term = n.term, epoch = n.epoch
      FROM conch.leadership n WHERE n.scope = the_scope AND h.scope = n.scope;
    INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, actor)
    VALUES (the_scope, l.epoch, l.holder, 'evicted', format('epoch advanced to %s by hand', to_epoch), who);
    RETURN l.epoch;
END $$;
