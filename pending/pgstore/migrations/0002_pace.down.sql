ALTER TABLE conch.intents DROP COLUMN waits, DROP COLUMN cancelling, RESET (fillfactor); -- their indexes go with them
CREATE INDEX intents_waiting ON conch.intents (chain, account, seq) WHERE nonce IS NULL AND fate = 'open';
CREATE INDEX intents_cancel ON conch.intents (chain, account) WHERE cancel AND fate = 'open';
DROP TRIGGER intents_cancelled ON conch.intents;
DROP FUNCTION conch.notify_cancel();
CREATE TRIGGER intents_changed AFTER UPDATE ON conch.intents
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_intents();

DROP TRIGGER pending_new ON conch.pending_transactions;
DROP TRIGGER pending_update ON conch.pending_transactions;
CREATE OR REPLACE FUNCTION conch.notify_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(TG_ARGV[0], json_build_object(
        'chain', NEW.chain, 'account', '0x' || encode(NEW.account, 'hex'), 'nonce', NEW.nonce,
        'hash', '0x' || encode(NEW.hash, 'hex'), 'state', NEW.state, 'creator', NEW.creator,
        'updated_at', NEW.updated_at,
        'block_hash', CASE WHEN NEW.block_hash IS NOT NULL THEN '0x' || encode(NEW.block_hash, 'hex') END)::text);
    RETURN NULL;
END $$;
CREATE TRIGGER pending_new AFTER INSERT ON conch.pending_transactions
    FOR EACH ROW EXECUTE FUNCTION conch.notify_pending('pending_tx_new');
CREATE TRIGGER pending_update AFTER UPDATE ON conch.pending_transactions
    FOR EACH ROW EXECUTE FUNCTION conch.notify_pending('pending_tx_update');

ALTER TABLE conch.pending_transactions ADD CONSTRAINT pending_transactions_intent_fkey FOREIGN KEY (intent) REFERENCES conch.intents;
CREATE INDEX pending_transactions_intent ON conch.pending_transactions (intent);
CREATE INDEX pending_attempts_hash ON conch.pending_attempts (hash);
