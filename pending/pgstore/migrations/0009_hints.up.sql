-- A notification is a hint that may be lost, and must not stop what it tells of: from half full on the server's one queue
-- warns at each commit that notifies, and a full one fails it (54000). So from there on nothing is announced, and readers
-- poll. The floors are kept all the same.
CREATE OR REPLACE FUNCTION conch.notify_pending() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    few   boolean := (SELECT count(*) FROM (SELECT FROM fresh LIMIT 17) f) <= 16;
    heard boolean := pg_notification_queue_usage() < 0.5;
    n     record;
BEGIN
    IF few AND heard THEN
        PERFORM pg_notify(TG_ARGV[0], format(
            '{"chain":%s,"account":"0x%s","nonce":%s,"hash":"0x%s","state":"%s","creator":%s,"updated_at":%s,"block_hash":%s}',
            to_json(f.chain), encode(f.account, 'hex'), f.nonce, encode(f.hash, 'hex'), f.state, to_json(f.creator),
            to_json(f.updated_at), coalesce('"0x' || encode(f.block_hash, 'hex') || '"', 'null')))
           FROM fresh f;
    END IF;
    FOR n IN SELECT f.chain, f.account, min(f.nonce) AS low, max(f.nonce) AS high, count(*) AS many, max(f.updated_at) AS at,
                    min(f.nonce) FILTER (WHERE NOT f.final) AS open
               FROM fresh f GROUP BY f.chain, f.account LOOP
        IF NOT few AND heard THEN
            PERFORM pg_notify(TG_ARGV[0], format('{"chain":%s,"account":"0x%s","from":%s,"to":%s,"n":%s,"updated_at":%s}',
                to_json(n.chain), encode(n.account, 'hex'), n.low, n.high, n.many, to_json(n.at)));
        END IF;
        UPDATE conch.pending_floors f SET nonce = n.open WHERE f.chain = n.chain AND f.account = n.account AND f.nonce > n.open;
        IF TG_OP = 'INSERT' AND NOT EXISTS (SELECT FROM conch.pending_floors f WHERE f.chain = n.chain AND f.account = n.account) THEN
            INSERT INTO conch.pending_floors VALUES (n.chain, n.account, 0) ON CONFLICT DO NOTHING; -- nobody knows what was before
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION conch.notify_intents() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('pending_intent', json_build_object('chain', n.chain, 'account', '0x' || encode(n.account, 'hex'))::text)
       FROM (SELECT DISTINCT chain, account FROM fresh) n WHERE pg_notification_queue_usage() < 0.5;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION conch.notify_cancel() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('pending_intent', json_build_object('chain', NEW.chain, 'account', '0x' || encode(NEW.account, 'hex'))::text)
      WHERE pg_notification_queue_usage() < 0.5;
    RETURN NULL;
END $$;
