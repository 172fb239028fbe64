DROP INDEX conch.intents_idempotency_key;
ALTER TABLE conch.intents ADD UNIQUE (chain, account, idempotency_key);
ALTER TABLE conch.pending_transactions SET (fillfactor = 70);
ALTER TABLE conch.pending_transactions DROP COLUMN epoch, DROP COLUMN write;
ALTER FUNCTION conch.pending_history() STABLE;
DROP FUNCTION conch.pending_claim(text, bytea, text, bigint, bigint);
ALTER TABLE conch.pending_accounts DROP COLUMN epoch, DROP COLUMN write;
CREATE FUNCTION conch.pending_claim(chain text, account bytea, scope text) RETURNS void LANGUAGE plpgsql AS $$
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
