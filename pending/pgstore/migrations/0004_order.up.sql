-- Who names no key needs no place in the index of keys.
ALTER TABLE conch.intents DROP CONSTRAINT intents_chain_account_idempotency_key_key;
CREATE UNIQUE INDEX intents_idempotency_key ON conch.intents (chain, account, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Which write a row's state is of: the leader's epoch, and the number of the write
-- among that leader's. One that was given up may still be carried out by the server,
-- after a later one: it then changes nothing.
ALTER TABLE conch.pending_transactions
    ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
    ADD COLUMN write bigint NOT NULL DEFAULT 0;

-- Immutable, so that the plan of each write holds the answer, which reading the
-- server's control file costs otherwise. It is: the timeline changes at the end of a
-- recovery only, before which this fails, and no plan outlives the server.
ALTER FUNCTION conch.pending_history() IMMUTABLE;

-- Writes of a leader with a lower number do not count any more. A leader that has no answer to a
-- write raises the number before it looks at the rows: the write is then in them, or never will be.
ALTER TABLE conch.pending_accounts
    ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
    ADD COLUMN write bigint NOT NULL DEFAULT 0;

-- Writes share the lock, so a leader that raises the number waits until they have ended.
DROP FUNCTION conch.pending_claim(text, bytea, text);
CREATE FUNCTION conch.pending_claim(chain text, account bytea, scope text, epoch bigint, write bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held conch.pending_accounts;
BEGIN
    SELECT * INTO held FROM conch.pending_accounts a
     WHERE a.chain = pending_claim.chain AND a.account = pending_claim.account FOR SHARE;
    IF NOT FOUND THEN
        INSERT INTO conch.pending_accounts AS a (chain, account, scope, system_id, timeline)
        SELECT pending_claim.chain, pending_claim.account, pending_claim.scope, h.system_id, h.timeline FROM conch.pending_history() h
            ON CONFLICT DO NOTHING;
        SELECT * INTO held FROM conch.pending_accounts a
         WHERE a.chain = pending_claim.chain AND a.account = pending_claim.account FOR SHARE;
    END IF;
    IF held.scope <> pending_claim.scope THEN
        RAISE EXCEPTION USING ERRCODE = 'CN011',
            MESSAGE = format('account 0x%s on %s is sent from under the scope %L, not %L: two scopes would both sign its nonces',
                             encode(account, 'hex'), chain, held.scope, pending_claim.scope),
            HINT = 'Name the same scope, or, once nothing of it is pending, delete its row of conch.pending_accounts.';
    END IF;
    IF (held.epoch, held.write) > (pending_claim.epoch, pending_claim.write) THEN
        RAISE EXCEPTION USING ERRCODE = 'CN012',
            MESSAGE = format('write %s of epoch %s comes too late: its leader has given it up and looked at the rows since',
                             pending_claim.write, pending_claim.epoch);
    END IF;
END $$;

-- Room for a second state of every row of a page: a block changes all of them at once,
-- and whatever finds no room beside itself is written into each index anew.
ALTER TABLE conch.pending_transactions SET (fillfactor = 45);
