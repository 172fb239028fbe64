CREATE OR REPLACE FUNCTION conch.notify_pending() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN -- format takes half the time of json_build_object
    PERFORM pg_notify(TG_ARGV[0], format(
        '{"chain":%s,"account":"0x%s","nonce":%s,"hash":"0x%s","state":"%s","creator":%s,"updated_at":%s,"block_hash":%s}',
        to_json(n.chain), encode(n.account, 'hex'), n.nonce, encode(n.hash, 'hex'), n.state, to_json(n.creator),
        to_json(n.updated_at), coalesce('"0x' || encode(n.block_hash, 'hex') || '"', 'null')))
       FROM fresh n;
    RETURN NULL;
END $$;
