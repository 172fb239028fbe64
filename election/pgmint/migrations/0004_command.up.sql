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
