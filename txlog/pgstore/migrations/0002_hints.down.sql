CREATE OR REPLACE FUNCTION conch.log_append(log bytea, scope text, term bigint, first bigint, raws bytea[], hashes bytea[]) RETURNS void
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
    -- The payload is only which log, and how long it is: readers fetch the rows.
    PERFORM pg_notify('conch_log', encode(log_append.log, 'hex') || ':' || last);
END $$;
