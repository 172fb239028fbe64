-- The requests of operators to leaders. A row and a notification need access to the database alone.
--
--     asked -> warm (the successor of a transfer is ready) -> taken (the leader has it) -> done | failed
--     asked or warm -> expired (nobody took it in time, or its term is over)
CREATE TABLE conch.command (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    scope      text COLLATE "C" NOT NULL,
    epoch      bigint NOT NULL,               -- of the term that it is for
    verb       text NOT NULL CHECK (verb IN ('drain', 'transfer')),
    to_id      text NOT NULL DEFAULT '',
    actor      text NOT NULL,
    timeout_ms bigint NOT NULL CHECK (timeout_ms >= 0), -- for acts to end; 0: the leader's drain timeout
    state      text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'warm', 'taken', 'done', 'failed', 'expired')),
    result     text NOT NULL DEFAULT '',
    done_at    timestamptz
);
CREATE INDEX command_open ON conch.command (scope) WHERE state IN ('asked', 'warm');

-- The payload is only the id and the state: readers fetch the row.
CREATE FUNCTION conch.announce_command() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('conch_command', NEW.id || ':' || NEW.state);
    RETURN NULL;
END $$;
-- From a half full queue on nothing is announced, as for conch.leadership.
CREATE TRIGGER announce_command AFTER INSERT OR UPDATE OF state ON conch.command FOR EACH ROW
    WHEN (pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5)
    EXECUTE FUNCTION conch.announce_command();

-- history_trim deletes what was written before an instant, up to so many rows of each: requests that have ended, and of the history the rows of the next ids after one, but
-- not what a scope's last term has written. It returns how many of each it was, and the id to go on after; 0: it has seen all that is old enough. It has its owner's
-- rights: a node may add to the history, and not choose what to delete from it.
CREATE FUNCTION conch.history_trim(before timestamptz, after bigint, most int, OUT gone int, OUT requests int, OUT upto bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old bigint[];
BEGIN
    before := least(before, now());
    WITH next AS MATERIALIZED (SELECT h.id, h.scope, h.at < before AS old FROM conch.leadership_history h WHERE h.id > after ORDER BY h.id LIMIT most)
    SELECT array_agg(x.id) FILTER (WHERE x.old AND x.id < (SELECT max(a.id) FROM conch.leadership_history a WHERE a.scope = x.scope AND a.event = 'acquired')),
           CASE WHEN bool_or(x.old) AND count(*) = most THEN max(x.id) ELSE 0 END
      INTO old, upto FROM next x;
    upto := coalesce(upto, 0);
    DELETE FROM conch.leadership_history h WHERE h.id = ANY (old);
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM conch.command c WHERE c.id = ANY (ARRAY(SELECT x.id FROM conch.command x WHERE x.done_at < before ORDER BY x.id LIMIT most));
    GET DIAGNOSTICS requests = ROW_COUNT;
END $$;
REVOKE ALL ON FUNCTION conch.history_trim(timestamptz, bigint, int) FROM PUBLIC;
