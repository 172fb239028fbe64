-- What a batch costs. One notification for each row as before (S23), but made by one
-- statement; the leader is woken by what it has to do, and not by its own writes; and
-- no index or foreign key that nothing is read by.

DROP TRIGGER pending_new ON conch.pending_transactions;
DROP TRIGGER pending_update ON conch.pending_transactions;
CREATE OR REPLACE FUNCTION conch.notify_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(TG_ARGV[0], json_build_object(
        'chain', n.chain, 'account', '0x' || encode(n.account, 'hex'), 'nonce', n.nonce,
        'hash', '0x' || encode(n.hash, 'hex'), 'state', n.state, 'creator', n.creator,
        'updated_at', n.updated_at,
        'block_hash', CASE WHEN n.block_hash IS NOT NULL THEN '0x' || encode(n.block_hash, 'hex') END)::text)
       FROM fresh n;
    RETURN NULL;
END $$;
CREATE TRIGGER pending_new AFTER INSERT ON conch.pending_transactions
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_pending('pending_tx_new');
CREATE TRIGGER pending_update AFTER UPDATE ON conch.pending_transactions
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_pending('pending_tx_update');

DROP TRIGGER intents_changed ON conch.intents;
CREATE FUNCTION conch.notify_cancel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('pending_intent', json_build_object('chain', NEW.chain, 'account', '0x' || encode(NEW.account, 'hex'))::text);
    RETURN NULL;
END $$;
CREATE TRIGGER intents_cancelled AFTER UPDATE ON conch.intents
    FOR EACH ROW WHEN (NEW.cancel AND NOT OLD.cancel) EXECUTE FUNCTION conch.notify_cancel();

ALTER TABLE conch.pending_transactions DROP CONSTRAINT pending_transactions_intent_fkey;
DROP INDEX conch.pending_transactions_intent, conch.pending_attempts_hash;
