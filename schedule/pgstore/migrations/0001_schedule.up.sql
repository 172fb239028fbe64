-- Crons and jobs. A job's state is the table that has its row: ready, later, waiting, taken, dead, or none of them when it has
-- ended. No row is updated on the way of a job, so nothing bloats but the small tables.

-- A cron. The leader alone changes adopted, cursor and floor; a user who changes a cron adds a revision.
CREATE TABLE conch.crons (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,   -- never given to another cron
    name        text COLLATE "C" NOT NULL,
    filed       boolean NOT NULL,                                  -- a configuration file has declared it
    retired     boolean NOT NULL DEFAULT false,                    -- by the newest revision
    newest      int NOT NULL DEFAULT 1,
    adopted     int NOT NULL DEFAULT 0,
    cursor_at   timestamptz,                                       -- up to where its times are settled
    cursor_wall timestamp,                                         -- what the clock should have read at the last of them
    floor_at    timestamptz                                        -- up to where its rows were deleted
) WITH (fillfactor = 50);                                          -- rewritten by each run, in place
CREATE UNIQUE INDEX crons_name ON conch.crons (name) WHERE NOT retired;

-- A definition of a cron, from an instant on. It is never changed, but for the instant, once, by the leader.
CREATE TABLE conch.cron_revisions (
    cron       bigint NOT NULL REFERENCES conch.crons,
    n          int NOT NULL,
    definition jsonb NOT NULL,
    retired    boolean NOT NULL,
    since      timestamptz NOT NULL DEFAULT clock_timestamp(),
    by         text NOT NULL DEFAULT current_user,
    PRIMARY KEY (cron, n)
);

-- The configuration file that counts: one row.
CREATE TABLE conch.cron_file (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint NOT NULL,
    started timestamptz,                                           -- when the node has that declared it
    node    text NOT NULL DEFAULT '',
    digest  bytea NOT NULL DEFAULT '',                             -- of its crons: files of one version may differ
    hold    boolean NOT NULL DEFAULT false                         -- after a restore nothing is taken until somebody says so
);
INSERT INTO conch.cron_file (version) VALUES (-1);

-- The server that has these rows, and what was found about it: one row. After a failover its newest rows may be lost, and after a restore those of
-- hours: so what they say is still to be done may have been done.
CREATE TABLE conch.schedule_server (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    server      text COLLATE "C",                                  -- null: nobody has looked yet
    looks       bigint NOT NULL DEFAULT 0,                         -- of which programs remember the number
    seen_at     timestamptz,                                       -- when somebody has looked last
    changed_at  timestamptz,                                       -- when another server was found, or older rows
    restored_at timestamptz,                                       -- when rows of a backup were found
    held        boolean NOT NULL DEFAULT false                     -- nothing is taken
) WITH (fillfactor = 50);
INSERT INTO conch.schedule_server DEFAULT VALUES;

-- schedule_here names the history of the database in which this runs. It is declared immutable, so that a plan keeps its value: no plan outlives the server, and
-- the timeline changes at the end of a recovery only, before which this fails.
CREATE FUNCTION conch.schedule_here() RETURNS text LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT system_identifier || '/' || ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint FROM pg_control_system();
END;

-- schedule_look notes that the rows are those of another server than before, and returns what is known. One look in a minute is noted. The rows count
-- as those of a backup if nobody has looked at them for ten minutes when the server has changed, or if a program remembers ten looks more than they have had.
CREATE FUNCTION conch.schedule_look(remembered bigint) RETURNS conch.schedule_server
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    s     conch.schedule_server;
    other boolean;
    old   boolean;
BEGIN
    FOR i IN 1..2 LOOP
        IF i = 1 THEN
            SELECT * INTO s FROM conch.schedule_server;
        ELSE
            SELECT * INTO s FROM conch.schedule_server FOR UPDATE SKIP LOCKED; -- another one may just have noted it
            IF NOT FOUND THEN -- another one is about to: nobody waits for it, and nothing is taken before it has found out what there is to know
                SELECT * INTO s FROM conch.schedule_server;
                s.held := s.held OR other OR old;
                RETURN s;
            END IF;
        END IF;
        other := s.server <> conch.schedule_here() IS TRUE;
        old := s.looks + 10 < remembered OR other AND s.seen_at < now() - interval '10 minutes';
        IF s.server IS NOT NULL AND NOT other AND NOT old AND s.seen_at BETWEEN now() - interval '1 minute' AND now() + interval '1 minute' THEN
            RETURN s;
        END IF;
    END LOOP;
    UPDATE conch.schedule_server u SET server = conch.schedule_here(), looks = greatest(s.looks, remembered) + 1, seen_at = now(),
           changed_at = CASE WHEN other OR old THEN now() ELSE s.changed_at END, restored_at = CASE WHEN old THEN now() ELSE s.restored_at END,
           held = s.held OR old AND (SELECT f.hold FROM conch.cron_file f)
    RETURNING u.* INTO s;
    RETURN s;
END $$;

-- A scheduled time that was run, or skipped because of another job.
CREATE TABLE conch.cron_runs (
    cron       bigint NOT NULL,
    at         timestamptz NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    job        bigint NOT NULL,
    revision   int NOT NULL,
    epoch      bigint NOT NULL,                                    -- of the leader; 0: a user has run it by hand
    decided_at timestamptz NOT NULL,
    PRIMARY KEY (cron, at)
);

-- Scheduled times that are passed over.
CREATE TABLE conch.cron_gaps (
    cron    bigint NOT NULL,
    from_at timestamptz NOT NULL,
    to_at   timestamptz NOT NULL,
    count   int NOT NULL,                                          -- 10,000 stands for more, too
    why     text COLLATE "C" NOT NULL,
    epoch   bigint NOT NULL,
    noted_at timestamptz NOT NULL,
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY        -- without a key, a publication of all tables refuses deletions
);
CREATE INDEX cron_gaps_cron ON conch.cron_gaps (cron, from_at);

-- What programs give has types of its own: the server reads a check of a table anew for each statement, which took as long as to add the job, and that of a type once in a
-- session. Of JSON nothing can be read that has NUL.
CREATE DOMAIN conch.job_queue AS text COLLATE "C" CONSTRAINT "a queue has 1 to 64 bytes" CHECK (octet_length(VALUE) BETWEEN 1 AND 64);
CREATE DOMAIN conch.job_args AS json CONSTRAINT "args have 262144 bytes at most" CHECK (octet_length(VALUE::text) <= 262144)
    CONSTRAINT "args have no NUL" CHECK (strpos(VALUE::text, '\u0000') = 0 OR VALUE::text !~ '(^|[^\\])(\\\\)*\\u0000');
CREATE DOMAIN conch.job_priority AS int CONSTRAINT "a priority is 0 to 3" CHECK (VALUE BETWEEN 0 AND 3);
CREATE DOMAIN conch.job_handler AS text COLLATE "C" NOT NULL CONSTRAINT "a handler has 1 to 200 bytes" CHECK (octet_length(VALUE) BETWEEN 1 AND 200);
CREATE DOMAIN conch.job_label AS text COLLATE "C" CONSTRAINT "a lane or a key has 1 to 200 bytes" CHECK (octet_length(VALUE) BETWEEN 1 AND 200);
CREATE DOMAIN conch.job_timeout AS interval CONSTRAINT "a timeout is more than nothing" CHECK (VALUE > '0');
CREATE DOMAIN conch.job_retries AS int CONSTRAINT "retries are 0 or more" CHECK (VALUE >= 0);
CREATE DOMAIN conch.job_result AS json CONSTRAINT "a result has 65536 bytes at most" CHECK (octet_length(VALUE::text) <= 65536)
    CONSTRAINT "a result has no NUL" CHECK (strpos(VALUE::text, '\u0000') = 0 OR VALUE::text !~ '(^|[^\\])(\\\\)*\\u0000');

-- A job, as it was asked for. It is never changed.
CREATE TABLE conch.jobs (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue      conch.job_queue NOT NULL,
    handler    jsonb NOT NULL,                                     -- {"job": name}, {"command": […]} or {"http": address}
    args       conch.job_args NOT NULL,
    priority   conch.job_priority NOT NULL,
    retries    conch.job_retries NOT NULL,
    timeout    conch.job_timeout NOT NULL,
    lane       conch.job_label,                                    -- one of a lane is ready, later or taken at a time
    key        conch.job_label,                                    -- one of a key has not ended
    cron       bigint,
    at         timestamptz,                                        -- the scheduled time
    scope      text COLLATE "C",                                   -- of the leader that has added it
    epoch      bigint,
    fenced     boolean NOT NULL DEFAULT false,                     -- its handler proves its attempt: another one may begin before it stops
    created_at timestamptz NOT NULL DEFAULT now(),
    by         text NOT NULL DEFAULT session_user
);

-- A worker that takes jobs reads this in its order. Due is when a job could begin, and later for those of a lower priority: so none starves.
CREATE TABLE conch.job_ready (
    queue   text COLLATE "C" NOT NULL,
    due     timestamptz NOT NULL,
    job     bigint NOT NULL,
    attempt int NOT NULL,                                          -- the one that is next
    kind    "char" NOT NULL,                                       -- of the handler: see job_kind. A worker leaves alone what it cannot call
    fenced  boolean NOT NULL,                                      -- as the job is
    PRIMARY KEY (queue, due, job)
);
CREATE TABLE conch.job_later (
    run_at  timestamptz NOT NULL,
    job     bigint NOT NULL,
    attempt int NOT NULL,
    made_at timestamptz,                                           -- of a delay; null: run_at was asked for
    PRIMARY KEY (run_at, job)
);
CREATE INDEX job_later_made ON conch.job_later (made_at) WHERE made_at IS NOT NULL;
CREATE TABLE conch.job_lanes (lane text COLLATE "C" PRIMARY KEY, job bigint NOT NULL); -- the job that holds it
CREATE TABLE conch.job_waiting (lane text COLLATE "C" NOT NULL, job bigint NOT NULL, attempt int NOT NULL, run_at timestamptz NOT NULL, PRIMARY KEY (lane, job));
CREATE TABLE conch.job_keys (key conch.job_label PRIMARY KEY, job bigint NOT NULL);
CREATE TABLE conch.job_taken (
    job      bigint PRIMARY KEY,
    attempt  int NOT NULL,
    post     text COLLATE "C" NOT NULL,                            -- the scope of the worker that has it
    epoch    bigint NOT NULL,
    at       timestamptz NOT NULL,
    cancel   boolean NOT NULL DEFAULT false,                       -- somebody wants it to end
    progress text
);
CREATE INDEX job_taken_post ON conch.job_taken (post);
CREATE TABLE conch.job_attempts (
    job     bigint NOT NULL,
    attempt int NOT NULL,
    outcome text COLLATE "C" NOT NULL,                             -- done; failed or dead; lost or released; later or cancelled
    post    text COLLATE "C" NOT NULL,
    began   timestamptz NOT NULL,
    ended   timestamptz NOT NULL,
    error   text,
    result  conch.job_result,
    spare   int,                                                   -- how many may fail from here on, before the job is dead; null: it has ended
    PRIMARY KEY (job, attempt)
);
CREATE TABLE conch.job_dead (job bigint PRIMARY KEY, died_at timestamptz NOT NULL, attempt int NOT NULL, why text NOT NULL);

-- What was done with many dead jobs at once: each of them once, however often the command is given again.
CREATE TABLE conch.job_operations (
    id       uuid PRIMARY KEY,
    kind     text COLLATE "C" NOT NULL CHECK (kind IN ('retry', 'discard')),
    queue    text COLLATE "C",                                     -- null: every one
    jobs     bigint[],                                             -- null: all of it
    cut_off  timestamptz NOT NULL DEFAULT now(),
    done     bigint NOT NULL DEFAULT 0,
    ended_at timestamptz,
    by       text NOT NULL DEFAULT current_user
);
CREATE TABLE conch.job_operated (operation uuid NOT NULL REFERENCES conch.job_operations, job bigint NOT NULL, PRIMARY KEY (operation, job));
CREATE INDEX job_operated_job ON conch.job_operated (job);

-- job_wait is by how much a job of a priority goes behind the others.
CREATE FUNCTION conch.job_wait(priority int) RETURNS interval LANGUAGE sql IMMUTABLE
RETURN make_interval(mins => (ARRAY[0, 1, 5, 30])[priority + 1]);

-- job_kind is which kind of handler a job has: a function of a program, a command or an address.
CREATE FUNCTION conch.job_kind(handler jsonb) RETURNS "char" LANGUAGE sql IMMUTABLE
RETURN CASE WHEN handler ? 'command' THEN 'c' WHEN handler ? 'http' THEN 'h' ELSE 'j' END::"char";

-- job_word is what wakes the workers of a queue: it has jobs that are due from a second on, which may be older than what they look at.
CREATE FUNCTION conch.job_word(queue text, due timestamptz) RETURNS text LANGUAGE sql STABLE
RETURN floor(date_part('epoch', due)) || ' ' || queue;

-- job_start has a job begin at an instant: it is ready, or comes later.
CREATE FUNCTION conch.job_start(job bigint, attempt int, run_at timestamptz, made_at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    j record;
    due timestamptz := run_at;
BEGIN
    SELECT a.id, a.queue, a.priority, a.handler, a.fenced INTO j FROM conch.jobs a WHERE a.id = job_start.job;
    IF run_at > now() THEN
        INSERT INTO conch.job_later (run_at, job, attempt, made_at) VALUES (job_start.run_at, j.id, job_start.attempt, job_start.made_at);
    ELSE
        due := run_at + conch.job_wait(j.priority);
        INSERT INTO conch.job_ready (queue, due, job, attempt, kind, fenced) VALUES (j.queue, due, j.id, job_start.attempt, conch.job_kind(j.handler), j.fenced);
    END IF;
    IF pg_notification_queue_usage() < 0.5 THEN
        PERFORM pg_notify('conch_job', conch.job_word(j.queue, due));
    END IF;
END $$;

-- job_enter has a job take its lane, or wait for it. At most waits jobs wait: otherwise it is false, and the
-- caller takes the job back. The row of the lane is locked before a job waits for it, so that its end sees the job that waits.
CREATE FUNCTION conch.job_enter(job bigint, attempt int, lane text, run_at timestamptz, waits int) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOOP
        INSERT INTO conch.job_lanes (lane, job) VALUES (job_enter.lane, job_enter.job) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            PERFORM conch.job_start(job_enter.job, job_enter.attempt, job_enter.run_at, NULL);
            RETURN true;
        END IF;
        PERFORM FROM conch.job_lanes l WHERE l.lane = job_enter.lane FOR UPDATE;
        IF FOUND THEN
            IF (SELECT count(*) FROM conch.job_waiting w WHERE w.lane = job_enter.lane) >= waits THEN
                RETURN false;
            END IF;
            INSERT INTO conch.job_waiting (lane, job, attempt, run_at) VALUES (job_enter.lane, job_enter.job, job_enter.attempt, job_enter.run_at);
            RETURN true;
        END IF;
        -- its job has ended meanwhile
    END LOOP;
END $$;

-- job_legible reports whether people see all of a text, and cannot take it for another one, as Go's package internal/name has it: no character that shows nothing, no space at an
-- end, and nothing written in an unusual way. In another encoding than UTF8 there is little of that.
CREATE FUNCTION conch.job_legible(name text) RETURNS boolean LANGUAGE sql STABLE
RETURN CASE WHEN name ~ '^[!-~]+( +[!-~]+)*$' OR getdatabaseencoding() <> 'UTF8' THEN true
            ELSE name !~ '^ | $|[\u0001-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]' AND name IS NFC NORMALIZED END;

-- job_add adds a job in the caller's own transaction, and returns its id; of a job whose key another one has that has not ended, that one's. It raises CN023 if people
-- could take a name for another one: then the job would wait for a worker, a lane or a key that is none.
CREATE FUNCTION conch.job_add(queue text, handler text, args json DEFAULT '{}', run_at timestamptz DEFAULT NULL, priority int DEFAULT 1,
                              lane text DEFAULT NULL, key text DEFAULT NULL, retries int DEFAULT 3, timeout interval DEFAULT '1h', fenced boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    id     bigint := nextval('conch.jobs_id_seq');
    holder bigint;
    odd    text := CASE WHEN NOT conch.job_legible(job_add.queue) THEN 'queue' WHEN NOT conch.job_legible(job_add.handler) THEN 'handler'
                        WHEN NOT conch.job_legible(job_add.lane) THEN 'lane' WHEN NOT conch.job_legible(job_add.key) THEN 'key' END;
BEGIN
    IF odd IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'CN023', MESSAGE = format('the %s has a character that nobody sees, a space at an end, or one that is written in an unusual way', odd),
            HINT = 'Workers compare names by their bytes: write it as the others do.';
    END IF;
    IF key IS NOT NULL THEN
        LOOP
            INSERT INTO conch.job_keys (key, job) VALUES (job_add.key, id) ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND;
            SELECT k.job INTO holder FROM conch.job_keys k WHERE k.key = job_add.key FOR UPDATE;
            IF FOUND THEN
                RETURN holder;
            END IF;
        END LOOP;
    END IF;
    INSERT INTO conch.jobs (id, queue, handler, args, priority, retries, timeout, lane, key, fenced) OVERRIDING SYSTEM VALUE
    VALUES (id, job_add.queue, jsonb_build_object('job', job_add.handler::conch.job_handler::text), job_add.args, job_add.priority, job_add.retries, job_add.timeout, job_add.lane, job_add.key, job_add.fenced);
    IF lane IS NULL THEN
        PERFORM conch.job_start(id, 1, coalesce(job_add.run_at, now()), NULL);
    ELSE
        PERFORM conch.job_enter(id, 1, job_add.lane, coalesce(job_add.run_at, now()), 2147483647);
    END IF;
    RETURN id;
END $$;

-- job_take takes up to so many jobs for a worker, first those that come later and are due. The caller fences the transaction with the
-- token of its post. After a restore nothing is taken while jobs are held. A job that was due, or was added, before the server changed may have been done:
-- maybe_repeated. A delay that was made while the clock was ahead is over: now() may be older than one that was just made. Nothing is looked at that was due before an instant, but for what has just
-- come: a worker says up to where it has taken, since rows that are gone stand in the way for as long as any transaction may still see them. It says which kinds of handlers
-- it calls, and whether it may take none but those that prove their attempts.
--
-- Its plans, and those of job_end and dead_step, look each row up by its key, whatever the statistics say: these tables are empty at one moment and have a hundred thousand rows
-- at the next, and under a snapshot that is held they have the rows of all jobs that have gone through. A plan that reads one of them from end to end costs each job that, and so
-- does one that joins what a statement has just found: it does not know how many that are, and compares each with each.
CREATE FUNCTION conch.job_take(queues text[], post text, epoch bigint, most int, since timestamptz DEFAULT '-infinity', kinds "char"[] DEFAULT '{c,h,j}', proving boolean DEFAULT false)
RETURNS TABLE (job bigint, attempt int, queue text, due timestamptz, handler jsonb, args json, timeout interval, cron text, at timestamptz, scope text, leader bigint, fenced boolean, maybe_repeated boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    s conch.schedule_server := conch.schedule_look(0);
BEGIN
    IF s.held THEN
        RETURN;
    END IF;
    WITH come AS (
        SELECT l.run_at, l.job FROM conch.job_later l WHERE l.run_at <= now() ORDER BY l.run_at LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), early AS (
        SELECT l.run_at, l.job FROM conch.job_later l WHERE l.made_at > now() AND l.made_at > clock_timestamp() LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), moved AS (
        DELETE FROM conch.job_later l USING (TABLE come UNION TABLE early) d WHERE l.run_at = d.run_at AND l.job = d.job RETURNING l.job, l.attempt, l.run_at
    ), ready AS (
        INSERT INTO conch.job_ready (queue, due, job, attempt, kind, fenced)
        SELECT j.queue, least(m.run_at, now()) + conch.job_wait(j.priority), m.job, m.attempt, conch.job_kind(j.handler), j.fenced FROM moved m JOIN conch.jobs j ON j.id = m.job
        RETURNING job_ready.due
    )
    SELECT least(job_take.since, min(r.due)) INTO since FROM ready r;
    RETURN QUERY
    WITH got AS (
        DELETE FROM conch.job_ready r WHERE r.ctid = ANY (ARRAY(
            SELECT o.row FROM unnest(job_take.queues) AS q(name) CROSS JOIN LATERAL (
                SELECT o.ctid AS row, o.due, o.job FROM conch.job_ready o WHERE o.queue = q.name AND o.due >= job_take.since AND o.kind = ANY (job_take.kinds) AND (o.fenced OR NOT job_take.proving)
                 ORDER BY o.due, o.job LIMIT job_take.most FOR UPDATE SKIP LOCKED) o
             ORDER BY o.due, o.job LIMIT job_take.most)) RETURNING r.job, r.attempt, r.due
    ), taken AS (
        INSERT INTO conch.job_taken (job, attempt, post, epoch, at) SELECT g.job, g.attempt, job_take.post, job_take.epoch, now() FROM got g
    )
    SELECT g.job, g.attempt, j.queue::text, g.due, j.handler, j.args::json, j.timeout::interval, (SELECT c.name FROM conch.crons c WHERE c.id = j.cron), j.at, j.scope, j.epoch, j.fenced,
           coalesce(coalesce(j.at, j.created_at) <= s.changed_at, false)
      FROM got g JOIN conch.jobs j ON j.id = g.job;
END $$;

-- job_leave lets go what a job that has ended has held: its key, and its lane, which the next job takes.
CREATE FUNCTION conch.job_leave(job bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    j    conch.jobs;
    heir conch.job_waiting;
BEGIN
    SELECT * INTO j FROM conch.jobs a WHERE a.id = job_leave.job;
    DELETE FROM conch.job_keys k WHERE k.key = j.key AND k.job = j.id;
    PERFORM FROM conch.job_lanes l WHERE l.lane = j.lane AND l.job = j.id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM conch.job_waiting w WHERE w.lane = j.lane AND w.job = (SELECT min(o.job) FROM conch.job_waiting o WHERE o.lane = j.lane) RETURNING * INTO heir;
    IF NOT FOUND THEN
        DELETE FROM conch.job_lanes l WHERE l.lane = j.lane;
        RETURN;
    END IF;
    UPDATE conch.job_lanes l SET job = heir.job WHERE l.lane = j.lane;
    PERFORM conch.job_start(heir.job, heir.attempt, heir.run_at, NULL);
END $$;

-- job_done ends a job, in the transaction of its handler: its effect and its end are one. It raises CN021 if the attempt is over.
CREATE FUNCTION conch.job_done(job bigint, attempt int, result json DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t conch.job_taken;
BEGIN
    DELETE FROM conch.job_taken d WHERE d.job = job_done.job AND d.attempt = job_done.attempt RETURNING * INTO t;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'CN021', MESSAGE = format('attempt %s of job %s is over', attempt, job),
            HINT = 'Roll back: another attempt has been made, or will be.';
    END IF;
    INSERT INTO conch.job_attempts (job, attempt, outcome, post, began, ended, result)
    VALUES (t.job, t.attempt, 'done', t.post, t.at, clock_timestamp(), job_done.result);
    PERFORM conch.job_leave(job_done.job);
END $$;

-- job_hold proves that an attempt is not over, and keeps it so until the transaction ends. It raises CN021 otherwise.
CREATE FUNCTION conch.job_hold(job bigint, attempt int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM conch.job_taken t WHERE t.job = job_hold.job AND t.attempt = job_hold.attempt FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'CN021', MESSAGE = format('attempt %s of job %s is over', attempt, job),
            HINT = 'Roll back: another attempt has been made, or will be.';
    END IF;
END $$;

-- job_again has a job go on after an attempt that did not do it: another one after a pause, or the job is dead. Attempts that failed or are
-- lost count, and those that were released, or put off, do not.
CREATE FUNCTION conch.job_again(job bigint, attempt int, outcome text, error text, pause interval) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rest int := coalesce((SELECT nullif(a.spare, 0) FROM conch.job_attempts a WHERE a.job = job_again.job AND a.attempt = job_again.attempt - 1),
                         (SELECT j.retries + 1 FROM conch.jobs j WHERE j.id = job_again.job));
BEGIN
    rest := CASE WHEN outcome = 'dead' THEN 0 WHEN outcome IN ('failed', 'lost') THEN rest - 1 ELSE rest END;
    UPDATE conch.job_attempts a SET spare = rest WHERE a.job = job_again.job AND a.attempt = job_again.attempt;
    IF rest > 0 THEN
        PERFORM conch.job_start(job_again.job, job_again.attempt + 1, now() + pause, now());
    ELSE
        INSERT INTO conch.job_dead (job, died_at, attempt, why) VALUES (job_again.job, now(), job_again.attempt, left(job_again.error, 8192));
        PERFORM conch.job_leave(job_again.job);
    END IF;
END $$;

-- job_end ends attempts, as a worker tells it: one that is over stays as it is, and is returned. So is one that a transaction holds; it is to be
-- told again. One that somebody has cancelled is not tried again, whatever is told. A row that nobody has locked or changed since it was written (its xmax is 0) is deleted without
-- being locked first, which is a twentieth of what a job writes to the WAL; if somebody locks it in between, the delete waits for as long as the caller lets it.
CREATE FUNCTION conch.job_end(jobs bigint[], attempts int[], outcomes text[], errors text[], results json[], pauses float8[])
RETURNS TABLE (job bigint, attempt int, held boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    e record;
BEGIN
    FOR e IN WITH told AS MATERIALIZED (
        SELECT * FROM unnest(job_end.jobs, job_end.attempts, job_end.outcomes, job_end.errors, job_end.results, job_end.pauses)
                   AS u(job, attempt, outcome, error, result, pause)
    ), free AS (
        SELECT t.job FROM told d JOIN conch.job_taken t ON t.job = d.job AND t.attempt = d.attempt WHERE t.xmax <> 0 FOR UPDATE OF t SKIP LOCKED
    ), gone AS (
        DELETE FROM conch.job_taken t USING told d WHERE t.job = d.job AND t.attempt = d.attempt AND (t.xmax = 0 OR t.job IN (SELECT f.job FROM free f))
        RETURNING t.job, t.attempt, t.post, t.at, CASE WHEN t.cancel AND d.outcome <> 'done' THEN 'cancelled' ELSE d.outcome END AS outcome, d.error, d.result, d.pause
    ), noted AS (
        INSERT INTO conch.job_attempts (job, attempt, outcome, post, began, ended, error, result)
        SELECT g.job, g.attempt, g.outcome, g.post, g.at, clock_timestamp(), left(g.error, 8192), g.result FROM gone g
    )
    SELECT g.job, g.attempt, g.outcome, g.error, g.pause, j.lane, false AS there FROM gone g JOIN conch.jobs j ON j.id = g.job
     WHERE g.outcome NOT IN ('done', 'cancelled') OR j.lane IS NOT NULL OR j.key IS NOT NULL
     UNION ALL
    SELECT d.job, d.attempt, NULL, NULL, NULL, NULL, EXISTS (SELECT FROM conch.job_taken t WHERE t.job = d.job AND t.attempt = d.attempt) FROM told d WHERE (d.job, d.attempt) NOT IN (SELECT g.job, g.attempt FROM gone g)
     ORDER BY lane, job LOOP
        IF e.outcome IS NULL THEN
            RETURN QUERY SELECT e.job, e.attempt, e.there;
        ELSIF e.outcome NOT IN ('done', 'cancelled') THEN
            PERFORM conch.job_again(e.job, e.attempt, e.outcome, e.error, make_interval(secs => e.pause));
        ELSE
            PERFORM conch.job_leave(e.job);
        END IF;
    END LOOP;
END $$;

-- job_progress notes how far attempts are.
CREATE FUNCTION conch.job_progress(jobs bigint[], attempts int[], texts text[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    UPDATE conch.job_taken t SET progress = left(u.text, 8192) FROM unnest(jobs, attempts, texts) AS u(job, attempt, text)
     WHERE t.job = u.job AND t.attempt = u.attempt;
END;

-- job_cancel ends a job that is not at work, and returns the word for the table in which it was; null: it has ended, is dead, or there is none. Of a
-- job that is at work, which is taken, it notes that somebody wants it to end: its worker stops it, and it is not tried again. The row of the
-- lane is locked before a job that waits for it goes, so that the end of the job that holds it sees that.
CREATE FUNCTION conch.job_cancel(job bigint, why text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    j     conch.jobs;
    was   text;
    tried int;
BEGIN
    SELECT * INTO j FROM conch.jobs a WHERE a.id = job_cancel.job;
    PERFORM FROM conch.job_lanes l WHERE l.lane = j.lane FOR UPDATE;
    FOR _ IN 1..10 LOOP -- it may just go from one table to another
        UPDATE conch.job_taken t SET cancel = true WHERE t.job = j.id;
        IF FOUND THEN
            RETURN 'taken';
        END IF;
        WITH ready AS (DELETE FROM conch.job_ready r WHERE r.queue = j.queue AND r.job = j.id RETURNING r.attempt),
             later AS (DELETE FROM conch.job_later l WHERE l.job = j.id RETURNING l.attempt),
             waiting AS (DELETE FROM conch.job_waiting w WHERE w.lane = j.lane AND w.job = j.id RETURNING w.attempt)
        SELECT o.was, o.attempt INTO was, tried
          FROM (SELECT 'ready' AS was, attempt FROM ready UNION ALL SELECT 'later', attempt FROM later UNION ALL SELECT 'waiting', attempt FROM waiting) o;
        IF FOUND THEN
            INSERT INTO conch.job_attempts (job, attempt, outcome, post, began, ended, error)
            VALUES (j.id, tried, 'cancelled', '', clock_timestamp(), clock_timestamp(), job_cancel.why);
            PERFORM conch.job_leave(j.id);
            RETURN was;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- dead_step carries an operation on for up to so many dead jobs, and returns how many it was; 0: the operation has ended. A job that dies
-- again is not given back by the same operation. It raises CN022 if the database does not know the operation: it was restored since.
CREATE FUNCTION conch.dead_step(operation uuid, most int) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    o      conch.job_operations;
    picked bigint[];
    j      record;
BEGIN
    SELECT * INTO o FROM conch.job_operations p WHERE p.id = operation FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'CN022', MESSAGE = format('there is no operation %s', operation),
            HINT = 'The database was restored since it began: look at what is dead, and begin another one.';
    ELSIF o.ended_at IS NOT NULL THEN
        RETURN 0;
    END IF;
    SELECT array_agg(d.job) INTO picked FROM (
        SELECT d.job FROM conch.job_dead d JOIN conch.jobs a ON a.id = d.job
         WHERE d.died_at <= o.cut_off AND (o.queue IS NULL OR a.queue = o.queue) AND (o.jobs IS NULL OR d.job = ANY (o.jobs))
           AND NOT EXISTS (SELECT FROM conch.job_operated e WHERE e.operation = o.id AND e.job = d.job)
         ORDER BY d.job LIMIT most FOR UPDATE OF d SKIP LOCKED) d;
    IF picked IS NULL THEN
        UPDATE conch.job_operations p SET ended_at = now() WHERE p.id = o.id;
        RETURN 0;
    END IF;
    INSERT INTO conch.job_operated (operation, job) SELECT o.id, unnest(picked);
    UPDATE conch.job_operations p SET done = p.done + cardinality(picked) WHERE p.id = o.id;
    FOR j IN WITH gone AS (
        DELETE FROM conch.job_dead d WHERE d.job = ANY (picked) RETURNING d.job, d.attempt + 1 AS attempt
    ), again AS (
        SELECT a.*, g.attempt FROM gone g JOIN conch.jobs a ON a.id = g.job WHERE o.kind = 'retry'
    ), free AS (
        INSERT INTO conch.job_ready (queue, due, job, attempt, kind, fenced)
        SELECT a.queue, now() + conch.job_wait(a.priority), a.id, a.attempt, conch.job_kind(a.handler), a.fenced FROM again a WHERE a.lane IS NULL
        RETURNING job_ready.queue, job_ready.due
    )
    SELECT NULL AS lane, NULL AS id, NULL AS attempt, f.queue, min(f.due) AS due FROM free f GROUP BY f.queue UNION ALL
    SELECT a.lane, a.id, a.attempt, a.queue, NULL FROM again a WHERE a.lane IS NOT NULL LOOP
        IF j.lane IS NULL THEN
            PERFORM pg_notify('conch_job', conch.job_word(j.queue, j.due)) WHERE pg_notification_queue_usage() < 0.5;
        ELSE
            PERFORM conch.job_enter(j.id, j.attempt, j.lane, now(), 2147483647);
        END IF;
    END LOOP;
    RETURN cardinality(picked);
END $$;

-- schedule_trim deletes what is of use to nobody any more, up to so many rows of a kind: jobs that have ended before an instant, of the next ids after one,
-- with their attempts; operations; and what is known of the times of crons: gaps, rows that their leader has given up, and all of those that are retired. It returns how
-- many of each it was, the most of one kind, and the id to go on after; 0: it has seen all jobs that are old enough. What is open, dead or young stays: it has its
-- owner's rights, so that a node has none to delete it.
CREATE FUNCTION conch.schedule_trim(before timestamptz, after bigint, most int, OUT ended int, OUT runs int, OUT others int, OUT gone int, OUT upto bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old bigint[];
    n   int;
BEGIN
    before := least(before, now());
    WITH next AS MATERIALIZED (SELECT j.id, j.created_at < before AS old FROM conch.jobs j WHERE j.id > after ORDER BY j.id LIMIT most)
    SELECT array_agg(x.id) FILTER (WHERE x.old), CASE WHEN bool_and(x.old) AND count(*) = most THEN max(x.id) ELSE 0 END INTO old, upto FROM next x;
    upto := coalesce(upto, 0);
    old := ARRAY(
        SELECT o.id FROM unnest(old) AS o(id) CROSS JOIN LATERAL (SELECT * FROM conch.job_attempts a WHERE a.job = o.id ORDER BY a.attempt DESC LIMIT 1) l
         WHERE l.ended < before AND (l.spare IS NULL -- done, or cancelled
            OR EXISTS (SELECT FROM conch.job_operated e JOIN conch.job_operations p ON p.id = e.operation WHERE e.job = o.id AND p.kind = 'discard')));
    DELETE FROM conch.job_attempts a WHERE a.job = ANY (old);
    DELETE FROM conch.job_operated e WHERE e.job = ANY (old);
    DELETE FROM conch.jobs j WHERE j.id = ANY (old);
    GET DIAGNOSTICS ended = ROW_COUNT;
    gone := ended;
    others := 0;
    IF upto = 0 THEN -- an operation says of a job that it was discarded, so it stays until its jobs have been seen
        DELETE FROM conch.job_operated e USING (
            SELECT x.operation, x.job FROM conch.job_operated x JOIN conch.job_operations p ON p.id = x.operation
             WHERE p.ended_at < before - interval '1 day' LIMIT most) o WHERE e.operation = o.operation AND e.job = o.job;
        GET DIAGNOSTICS n = ROW_COUNT;
        others := n;
        gone := greatest(gone, n);
        DELETE FROM conch.job_operations p WHERE p.ended_at < before - interval '1 day' AND NOT EXISTS (SELECT FROM conch.job_operated e WHERE e.operation = p.id);
    END IF;
    DELETE FROM conch.cron_runs r USING (
        SELECT x.cron, x.at FROM conch.crons c JOIN conch.cron_revisions v ON v.cron = c.id AND v.n = c.newest
          CROSS JOIN LATERAL (SELECT * FROM conch.cron_runs a WHERE a.cron = c.id
                                 AND a.at <= CASE WHEN c.retired AND c.adopted = c.newest AND v.since < before THEN 'infinity' ELSE c.floor_at END ORDER BY a.at LIMIT most) x
         LIMIT most) o WHERE r.cron = o.cron AND r.at = o.at;
    GET DIAGNOSTICS runs = ROW_COUNT;
    gone := greatest(gone, runs);
    DELETE FROM conch.cron_gaps g WHERE g.ctid = ANY (ARRAY(SELECT x.ctid FROM conch.cron_gaps x WHERE x.noted_at < before LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    others := others + n;
    gone := greatest(gone, n);
    DELETE FROM conch.cron_revisions v USING (
        SELECT x.cron, x.n FROM conch.crons c JOIN conch.cron_revisions x ON x.cron = c.id AND x.n < c.adopted
          JOIN conch.cron_revisions f ON f.cron = x.cron AND f.n = x.n + 1 WHERE f.since < before ORDER BY x.cron, x.n LIMIT most) o WHERE v.cron = o.cron AND v.n = o.n;
    GET DIAGNOSTICS n = ROW_COUNT;
    others := others + n;
    gone := greatest(gone, n);
END $$;
REVOKE ALL ON FUNCTION conch.schedule_trim(timestamptz, bigint, int) FROM PUBLIC;

-- cron_revise adds a revision of a cron, or makes one, and returns its id. A retired cron is never taken up again: another one of its name has
-- another id.
CREATE FUNCTION conch.cron_revise(name text, definition jsonb, retired boolean, filed boolean, by text DEFAULT current_user) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c conch.crons;
BEGIN
    UPDATE conch.crons o SET newest = o.newest + 1, retired = cron_revise.retired, filed = cron_revise.filed
     WHERE o.name = cron_revise.name AND NOT o.retired RETURNING * INTO c;
    IF NOT FOUND AND cron_revise.retired THEN
        RETURN NULL;
    ELSIF c.id IS NULL THEN
        INSERT INTO conch.crons AS o (name, filed) VALUES (cron_revise.name, cron_revise.filed)
            ON CONFLICT (name) WHERE NOT retired DO UPDATE SET newest = o.newest + 1 RETURNING * INTO c;
    END IF;
    INSERT INTO conch.cron_revisions (cron, n, definition, retired, by) VALUES (c.id, c.newest, cron_revise.definition, cron_revise.retired, cron_revise.by);
    PERFORM pg_notify('conch_cron', c.id::text) WHERE pg_notification_queue_usage() < 0.5;
    RETURN c.id;
END $$;

-- cron_move carries out the moves of crons that stand where the leader believes, and of which no time lies ahead of the clock. It returns each
-- cron that has moved, in a row without a time, and then what has become of its times. All of them are written at once, since a thousand crons may be due in one
-- second: a time whose lane another job holds goes to cron_run, and if any has a row already, all of them do. That shows when the row is written, since to
-- look for it beforehand costs as much as to write it. Its plans look each row up by its key, as those of job_take do, and are kept: to make them anew took a fifth of the time.
-- The moves come as arrays, since to read them as JSON took longer than to write them; what few moves have, an adoption or a gap, does not. The caller fences the transaction.
CREATE FUNCTION conch.cron_move(crons bigint[], was timestamptz[], wall timestamp[], adopted int[], newest int[], upto timestamptz[], upto_wall timestamp[], last timestamptz[], rest jsonb,
                                run_crons bigint[], run_at timestamptz[], revisions int[], begins timestamptz[], scope text, epoch bigint)
RETURNS TABLE (cron bigint, at timestamptz, outcome text, job bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    moved bigint[];
    whole boolean;
    jobs  bigint[] := ARRAY(SELECT nextval('conch.jobs_id_seq') FROM generate_series(1, cardinality(run_crons)));
    odd   bigint[];
    r     record;
BEGIN
    WITH done AS (
        UPDATE conch.crons c SET cursor_at = m.upto, cursor_wall = m.upto_wall
          FROM unnest(cron_move.crons, cron_move.was, cron_move.wall, cron_move.adopted, cron_move.newest, cron_move.upto, cron_move.upto_wall, cron_move.last)
                   AS m(cron, was, wall, adopted, newest, upto, upto_wall, last)
         WHERE c.id = m.cron AND c.cursor_at IS NOT DISTINCT FROM m.was AND c.cursor_wall IS NOT DISTINCT FROM m.wall
           AND c.adopted = m.adopted AND c.newest = m.newest AND (m.last IS NULL OR m.last <= now()) RETURNING c.id
    )
    SELECT array_agg(d.id) INTO moved FROM done d;
    whole := cardinality(moved) = cardinality(cron_move.crons);
    IF rest <> '[]' THEN
        WITH o AS MATERIALIZED (
            SELECT o.* FROM jsonb_to_recordset(rest) AS o(cron bigint, adopt int, since timestamptz, gap_from timestamptz, gap_to timestamptz, gap_count int, why text) WHERE o.cron = ANY (moved)
        ), adopted AS (
            UPDATE conch.crons c SET adopted = o.adopt FROM o WHERE c.id = o.cron AND o.adopt > 0
        ), since AS (
            UPDATE conch.cron_revisions v SET since = o.since FROM o WHERE v.cron = o.cron AND v.n = o.adopt AND v.since <> o.since
        )
        INSERT INTO conch.cron_gaps (cron, from_at, to_at, count, why, epoch, noted_at)
        SELECT o.cron, o.gap_from, o.gap_to, o.gap_count, o.why, cron_move.epoch, now() FROM o WHERE o.gap_from IS NOT NULL;
    END IF;
    RETURN QUERY SELECT u.id, NULL::timestamptz, NULL::text, NULL::bigint FROM unnest(moved) AS u(id);
    BEGIN
        FOR r IN WITH due AS MATERIALIZED (
            SELECT u.*, d->>'queue' AS queue, d->'handler' AS handler, (d->>'args')::json AS args, (d->>'priority')::int AS priority, (d->>'retries')::int AS retries, (d->>'timeout')::float8 AS timeout,
                   coalesce((d->>'fenced')::boolean, false) AS fenced, CASE WHEN d->>'overlap' <> 'allow' THEN 'cron:' || (d->>'name') END AS lane
              FROM unnest(cron_move.run_crons, cron_move.run_at, cron_move.revisions, cron_move.begins, jobs) AS u(cron, at, revision, begins, job)
              JOIN conch.cron_revisions v(cron, n, d) ON v.cron = u.cron AND v.n = u.revision WHERE whole OR u.cron = ANY (moved)
        ), lanes AS (
            INSERT INTO conch.job_lanes (lane, job) SELECT u.lane, u.job FROM due u WHERE u.lane IS NOT NULL ORDER BY u.lane, u.at ON CONFLICT DO NOTHING RETURNING job_lanes.job
        ), free AS NOT MATERIALIZED (
            SELECT u.*, u.begins + conch.job_wait(u.priority) AS due FROM due u WHERE u.lane IS NULL OR u.job IN (SELECT l.job FROM lanes l)
        ), fresh AS (
            INSERT INTO conch.cron_runs (cron, at, outcome, job, revision, epoch, decided_at)
            SELECT u.cron, u.at, 'enqueued', u.job, u.revision, cron_move.epoch, now() FROM free u
        ), added AS (
            INSERT INTO conch.jobs (id, queue, handler, args, priority, retries, timeout, lane, cron, at, scope, epoch, fenced) OVERRIDING SYSTEM VALUE
            SELECT u.job, u.queue, u.handler, u.args, u.priority, u.retries, make_interval(secs => u.timeout), u.lane, u.cron, u.at, cron_move.scope, cron_move.epoch, u.fenced FROM free u
        ), ready AS (
            INSERT INTO conch.job_ready (queue, due, job, attempt, kind, fenced)
            SELECT u.queue, u.due, u.job, 1, conch.job_kind(u.handler), u.fenced FROM free u WHERE u.begins <= now()
        ), later AS (
            INSERT INTO conch.job_later (run_at, job, attempt) SELECT u.begins, u.job, 1 FROM free u WHERE u.begins > now()
        )
        SELECT u.queue, min(u.due) AS due, NULL::bigint[] AS odd FROM free u GROUP BY u.queue UNION ALL
        SELECT NULL, NULL, array_agg(u.job) FROM due u WHERE u.lane IS NOT NULL AND u.job NOT IN (SELECT l.job FROM lanes l) LOOP
            odd := r.odd;
            IF r.queue IS NOT NULL AND pg_notification_queue_usage() < 0.5 THEN
                PERFORM pg_notify('conch_job', conch.job_word(r.queue, r.due));
            END IF;
        END LOOP;
    EXCEPTION WHEN unique_violation THEN
        odd := jobs;
    END;
    IF odd IS NULL THEN
        RETURN QUERY SELECT u.cron, u.at, 'enqueued'::text, u.job FROM unnest(cron_move.run_crons, cron_move.run_at, jobs) AS u(cron, at, job) WHERE whole OR u.cron = ANY (moved);
        RETURN;
    END IF;
    FOR r IN SELECT u.*, v.definition AS d FROM unnest(cron_move.run_crons, cron_move.run_at, cron_move.revisions, cron_move.begins, jobs) AS u(cron, at, revision, begins, job)
               JOIN conch.cron_revisions v ON v.cron = u.cron AND v.n = u.revision WHERE whole OR u.cron = ANY (moved) ORDER BY u.cron, u.at LOOP
        IF r.job = ANY (odd) THEN
            RETURN QUERY SELECT * FROM conch.cron_run(r.cron, r.at, r.revision, r.begins, r.d, r.job, cron_move.scope, cron_move.epoch);
        ELSE
            RETURN QUERY SELECT r.cron, r.at, 'enqueued'::text, r.job;
        END IF;
    END LOOP;
END $$;

-- cron_run gives one scheduled time its row and its job. A time that has a row has had its job.
CREATE FUNCTION conch.cron_run(cron bigint, at timestamptz, revision int, begins timestamptz, d jsonb, job bigint, scope text, epoch bigint)
RETURNS TABLE (cron_ bigint, at_ timestamptz, outcome text, job_ bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    held text := CASE WHEN d->>'overlap' <> 'allow' THEN 'cron:' || (d->>'name') END;
BEGIN
    INSERT INTO conch.cron_runs (cron, at, outcome, job, revision, epoch, decided_at)
    VALUES (cron_run.cron, cron_run.at, 'enqueued', cron_run.job, cron_run.revision, cron_run.epoch, now()) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN QUERY SELECT r.cron, r.at, 'existing'::text, r.job FROM conch.cron_runs r WHERE r.cron = cron_run.cron AND r.at = cron_run.at;
        RETURN;
    END IF;
    INSERT INTO conch.jobs (id, queue, handler, args, priority, retries, timeout, lane, cron, at, scope, epoch, fenced) OVERRIDING SYSTEM VALUE
    VALUES (cron_run.job, d->>'queue', d->'handler', (d->>'args')::json, (d->>'priority')::int, (d->>'retries')::int,
            make_interval(secs => (d->>'timeout')::float8), held, cron_run.cron, cron_run.at, cron_run.scope, cron_run.epoch,
            coalesce((d->>'fenced')::boolean, false));
    IF held IS NULL THEN
        PERFORM conch.job_start(cron_run.job, 1, cron_run.begins, NULL);
    ELSIF NOT conch.job_enter(cron_run.job, 1, held, cron_run.begins, CASE WHEN d->>'overlap' = 'queue' THEN (d->>'waits')::int ELSE 0 END) THEN
        DELETE FROM conch.jobs j WHERE j.id = cron_run.job;
        UPDATE conch.cron_runs r SET outcome = 'skipped', job = l.job FROM conch.job_lanes l
         WHERE r.cron = cron_run.cron AND r.at = cron_run.at AND l.lane = held;
        RETURN QUERY SELECT r.cron, r.at, r.outcome, r.job FROM conch.cron_runs r WHERE r.cron = cron_run.cron AND r.at = cron_run.at;
        RETURN;
    END IF;
    RETURN QUERY SELECT cron_run.cron, cron_run.at, 'enqueued'::text, cron_run.job;
END $$;

-- Figures over time: those of conch itself, which the leader of the aggregation writes in each slot, and what programs add of their own. The newest is the
-- one with the highest id, whatever the clock was.
CREATE TABLE conch.sample (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL DEFAULT now(),                     -- of conch's own: when the slot begins
    name   text COLLATE "C" NOT NULL
           CONSTRAINT "a name has letters, digits and _, 200 at most" CHECK (name ~ '^[a-zA-Z_][a-zA-Z0-9_]{0,199}$'),
    labels jsonb NOT NULL DEFAULT '{}'
           CONSTRAINT "labels are an object of 4096 bytes at most" CHECK (jsonb_typeof(labels) = 'object' AND octet_length(labels::text) <= 4096),
    value  float8 NOT NULL,
    epoch  bigint,                                                 -- of the leader that has written it; null: a program has added it
    CONSTRAINT "names that begin with conch_ are conch's own" CHECK (epoch IS NOT NULL OR NOT starts_with(name, 'conch_'))
);
CREATE UNIQUE INDEX sample_key ON conch.sample (at, name, ((labels::text) COLLATE "C"));

-- sample_put writes the figures of the slot that it is now, unless it was the last that was written, and deletes up to so many samples that are older than
-- keep by the database's clock and by the leader's. It returns how many it has written, and how long the slot lasts. What the slot has from a time at
-- which the clock was ahead is replaced. The caller fences the transaction.
CREATE FUNCTION conch.sample_put(every interval, keep interval, wall timestamptz, epoch bigint, names text[], labels jsonb[], vals float8[], most int,
                                 OUT written int, OUT rest interval)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    slot timestamptz := date_bin(sample_put.every, now(), 'epoch');
BEGIN
    written := 0;
    rest := slot + sample_put.every - clock_timestamp();
    IF slot IS DISTINCT FROM (SELECT s.at FROM conch.sample s WHERE s.epoch IS NOT NULL ORDER BY s.id DESC LIMIT 1) THEN
        DELETE FROM conch.sample s WHERE s.at = slot AND s.epoch IS NOT NULL;
        INSERT INTO conch.sample (at, name, labels, value, epoch)
        SELECT slot, u.name, u.labels, u.value, sample_put.epoch FROM unnest(sample_put.names, sample_put.labels, sample_put.vals) AS u(name, labels, value);
        GET DIAGNOSTICS written = ROW_COUNT;
    END IF;
    DELETE FROM conch.sample s WHERE s.id = ANY (ARRAY(
        SELECT x.id FROM conch.sample x WHERE x.at < least(now(), sample_put.wall) - sample_put.keep ORDER BY x.at LIMIT sample_put.most));
END $$;
