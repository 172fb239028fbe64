-- A log of which the database says what comes next: requirements B8 to B15, V1 to V8. A record is immutable: nothing
-- changes or deletes one.

-- A log. The leader of the scope appends to it, and nobody else.
CREATE TABLE conch.log (
    id         bytea PRIMARY KEY,                           -- the hash of its genesis
    namespace  bytea NOT NULL,                              -- what users write is bytes: no text that a database may refuse
    genesis    bytea NOT NULL,
    scope      text COLLATE "C" NOT NULL,
    newest     bigint NOT NULL,                             -- the index of the last record; at first that before the log
    term       bigint NOT NULL DEFAULT 0,                   -- of the last record: an epoch of the scope; 0: there is none
    appends    bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);                                   -- rewritten by each append, in place

CREATE TABLE conch.log_record (
    log   bytea NOT NULL,                                   -- conch.log has it: append sees to that, for less than a foreign key
    index bigint NOT NULL,
    raw   bytea NOT NULL,
    hash  bytea NOT NULL,                                   -- of raw
    PRIMARY KEY (log, index)
);

-- append stores the next records of a log, or does nothing if these are stored: a repetition. The row of the log brings
-- appends into one order: a repetition waits for the first one, if that is under way. It is changed by each append, also
-- by a repetition, so that its commit waits for the standby, and with it everything that was stored before. The caller
-- has fenced the transaction.
CREATE FUNCTION conch.log_append(log bytea, scope text, term bigint, first bigint, raws bytea[], hashes bytea[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l    conch.log;
    last bigint := first + cardinality(raws) - 1;
BEGIN
    SELECT * INTO l FROM conch.log g WHERE g.id = log_append.log FOR NO KEY UPDATE;
    IF NOT FOUND OR l.scope <> log_append.scope THEN
        RAISE EXCEPTION USING ERRCODE = 'CN032',
            MESSAGE = format('log %s is not that of the scope %L here', left(encode(log_append.log, 'hex'), 8), log_append.scope),
            DETAIL = coalesce(format('It is that of the scope %L.', l.scope), 'There is no such log.');
    ELSIF l.term > log_append.term OR l.newest < first - 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'CN031',
            MESSAGE = format('entry %s of term %s does not follow entry %s of term %s', first, log_append.term, l.newest, l.term);
    END IF;
    UPDATE conch.log g SET newest = greatest(g.newest, last), term = log_append.term, appends = g.appends + 1 WHERE g.id = log_append.log;
    INSERT INTO conch.log_record SELECT log_append.log, first + r.place - 1, r.raw, r.hash
      FROM unnest(raws, hashes) WITH ORDINALITY AS r(raw, hash, place) WHERE first + r.place - 1 > l.newest;
    IF l.newest >= first AND (SELECT array_agg(r.hash ORDER BY r.index) FROM conch.log_record r
                               WHERE r.log = log_append.log AND r.index BETWEEN first AND last) IS DISTINCT FROM hashes THEN
        RAISE EXCEPTION USING ERRCODE = 'CN031', MESSAGE = format('entry %s is another one: somebody else has appended', first);
    END IF;
    -- The payload is only which log, and how long it is: readers fetch the rows. It is a hint that may be lost, and must not stop what it
    -- tells of: from half full on the server's one queue warns at each commit that notifies, and a full one fails it (54000). Readers
    -- poll then.
    PERFORM pg_notify('conch_log', encode(log_append.log, 'hex') || ':' || last) WHERE pg_notification_queue_usage() < 0.5;
END $$;

-- read returns the record at an index, of which only the hash is told, and those after it: most of them, or fewer if they
-- have more than size bytes. Index 0 has no record.
CREATE FUNCTION conch.log_read(log bytea, after bigint, most int, size bigint) RETURNS TABLE (index bigint, hash bytea, raw bytea)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT r.index, r.hash, CASE WHEN r.index > log_read.after THEN r.raw END
      FROM (SELECT p.*, sum(octet_length(p.raw)) OVER (ORDER BY p.index) - octet_length(p.raw) AS before
              FROM (SELECT * FROM conch.log_record o WHERE o.log = log_read.log AND o.index >= log_read.after ORDER BY o.index LIMIT log_read.most) p) r
     WHERE r.before < log_read.size ORDER BY r.index;
END $$;

-- newest returns the index of the last record. If it is above the known one, and commits wait for a standby here, the
-- transaction gets something to commit: a record can be read whose commit was given up by a server that waited for its
-- standby, and a failover would take it back. Once this commit is confirmed, those before it are.
CREATE FUNCTION conch.log_newest(log bytea, known bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint := (SELECT l.newest FROM conch.log l WHERE l.id = log_newest.log);
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION USING ERRCODE = 'CN033', MESSAGE = 'this server is a standby: it may not know the newest entries';
    ELSIF newest > known AND current_setting('synchronous_standby_names') <> '' THEN
        PERFORM pg_logical_emit_message(true, 'conch', '');
    END IF;
    RETURN newest;
END $$;
