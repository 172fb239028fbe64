-- What a batch costs. One notification for each row as before (S23), but made by one
-- statement; the leader is woken by what it has to do, and not by its own writes; and
-- no index or foreign key that nothing is read by.

DROP TRIGGER pending_new ON conch.pending_transactions;
DROP TRIGGER pending_update ON conch.pending_transactions;
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
CREATE TRIGGER pending_new AFTER INSERT ON conch.pending_transactions
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_pending('pending_tx_new');
CREATE TRIGGER pending_update AFTER UPDATE ON conch.pending_transactions
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION conch.notify_pending('pending_tx_update');

DROP TRIGGER intents_changed ON conch.intents;
CREATE FUNCTION conch.notify_cancel() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('pending_intent', json_build_object('chain', NEW.chain, 'account', '0x' || encode(NEW.account, 'hex'))::text);
    RETURN NULL;
END $$;
CREATE TRIGGER intents_cancelled AFTER UPDATE ON conch.intents
    FOR EACH ROW WHEN (NEW.cancel AND NOT OLD.cancel) EXECUTE FUNCTION conch.notify_cancel();

ALTER TABLE conch.pending_transactions DROP CONSTRAINT pending_transactions_intent_fkey;
DROP INDEX conch.pending_transactions_intent, conch.pending_attempts_hash;

-- What an intent's index is asked for is a column, so that an update that does not
-- change the answer, such as the last one, writes to no index.
ALTER TABLE conch.intents
    ADD COLUMN waits boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate = 'open' AND NOT cancel) STORED,
    ADD COLUMN cancelling boolean NOT NULL GENERATED ALWAYS AS (cancel AND fate = 'open' AND nonce IS NOT NULL) STORED,
    SET (fillfactor = 60);
DROP INDEX conch.intents_waiting, conch.intents_cancel;
CREATE INDEX intents_waiting ON conch.intents (chain, account, seq) WHERE waits;
CREATE INDEX intents_cancel ON conch.intents (chain, account) WHERE cancelling;

-- The account is claimed once and looked at with every write; which history of the
-- database this is, a file says.
CREATE OR REPLACE FUNCTION conch.pending_claim(chain text, account bytea, scope text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    owner text;
BEGIN
    SELECT a.scope INTO owner FROM conch.pending_accounts a
     WHERE a.chain = pending_claim.chain AND a.account = pending_claim.account;
    IF owner IS NULL THEN
        INSERT INTO conch.pending_accounts AS a
        SELECT pending_claim.chain, pending_claim.account, pending_claim.scope, h.system_id, h.timeline FROM conch.pending_history() h
            ON CONFLICT DO NOTHING;
        SELECT a.scope INTO owner FROM conch.pending_accounts a
         WHERE a.chain = pending_claim.chain AND a.account = pending_claim.account;
    END IF;
    IF owner <> pending_claim.scope THEN
        RAISE EXCEPTION USING ERRCODE = 'CN011',
            MESSAGE = format('account 0x%s on %s is sent from under the scope %L, not %L: two scopes would both sign its nonces',
                             encode(account, 'hex'), chain, owner, pending_claim.scope),
            HINT = 'Name the same scope, or, once nothing of it is pending, delete its row of conch.pending_accounts.';
    END IF;
END $$;
