DROP FUNCTION conch.pending_floor(text, bytea, bigint);
CREATE OR REPLACE FUNCTION conch.notify_pending() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM fresh LIMIT 17) f) <= 16 THEN
        PERFORM pg_notify(TG_ARGV[0], format(
            '{"chain":%s,"account":"0x%s","nonce":%s,"hash":"0x%s","state":"%s","creator":%s,"updated_at":%s,"block_hash":%s}',
            to_json(n.chain), encode(n.account, 'hex'), n.nonce, encode(n.hash, 'hex'), n.state, to_json(n.creator),
            to_json(n.updated_at), coalesce('"0x' || encode(n.block_hash, 'hex') || '"', 'null')))
           FROM fresh n;
    ELSE
        PERFORM pg_notify(TG_ARGV[0], format('{"chain":%s,"account":"0x%s","from":%s,"to":%s,"n":%s,"updated_at":%s}',
            to_json(n.chain), encode(n.account, 'hex'), min(n.nonce), max(n.nonce), count(*), to_json(max(n.updated_at))))
           FROM fresh n GROUP BY n.chain, n.account;
    END IF;
    RETURN NULL;
END $$;
DROP TABLE conch.pending_floors;
ALTER TABLE conch.pending_transactions SET (fillfactor = 45);
CREATE INDEX pending_transactions_open ON conch.pending_transactions (chain, account, nonce) WHERE NOT final;
