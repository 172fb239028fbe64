-- A slot became final by leaving the index of the open ones. No index may name a column that a change of state writes:
-- else the row gets new entries in all of them. Now the open slots of an account are found by its primary key, from a
-- floor on: no slot below it is open. A floor that is too high loses a transaction, which no leader would load again; one
-- that is too low costs time. So each write of a slot that is open lowers it, in a trigger, and it is raised only under a
-- lock, by what is seen after the lock is held.

CREATE TABLE conch.pending_floors (
    chain   text COLLATE "C" NOT NULL,
    account bytea NOT NULL,
    nonce   bigint NOT NULL,
    PRIMARY KEY (chain, account)
) WITH (fillfactor = 50);

LOCK TABLE conch.pending_transactions IN ACCESS EXCLUSIVE MODE;
INSERT INTO conch.pending_floors (chain, account, nonce)
SELECT a.chain, a.account, coalesce(
           (SELECT min(t.nonce) FROM conch.pending_transactions t WHERE t.chain = a.chain AND t.account = a.account AND NOT t.final),
           (SELECT max(t.nonce) FROM conch.pending_transactions t WHERE t.chain = a.chain AND t.account = a.account), 0)
  FROM conch.pending_accounts a;
DROP INDEX conch.pending_transactions_open;

-- Room for the state of a block and the final one beside the first, where the final one is longer by two witnesses.
ALTER TABLE conch.pending_transactions SET (fillfactor = 35);

-- It notifies as before, and keeps the floors. A role that may write slots need not be allowed to write floors.
CREATE OR REPLACE FUNCTION conch.notify_pending() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    few boolean := (SELECT count(*) FROM (SELECT FROM fresh LIMIT 17) f) <= 16;
    n   record;
BEGIN
    IF few THEN
        PERFORM pg_notify(TG_ARGV[0], format(
            '{"chain":%s,"account":"0x%s","nonce":%s,"hash":"0x%s","state":"%s","creator":%s,"updated_at":%s,"block_hash":%s}',
            to_json(f.chain), encode(f.account, 'hex'), f.nonce, encode(f.hash, 'hex'), f.state, to_json(f.creator),
            to_json(f.updated_at), coalesce('"0x' || encode(f.block_hash, 'hex') || '"', 'null')))
           FROM fresh f;
    END IF;
    FOR n IN SELECT f.chain, f.account, min(f.nonce) AS low, max(f.nonce) AS high, count(*) AS many, max(f.updated_at) AS at,
                    min(f.nonce) FILTER (WHERE NOT f.final) AS open
               FROM fresh f GROUP BY f.chain, f.account LOOP
        IF NOT few THEN
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

-- floor moves an account's floor after a write: down to the lowest slot that the write has left open, else up to the
-- lowest that is open, at most by 20,000 and never above the newest slot.
--
-- Of two writes at once, one may raise the floor while the other, whose rows it cannot see, opens a slot that was final.
-- So each write of states ends with this: the one that has the lock second sees what the first has committed, or lowers what
-- the first has raised. A statement sees that only if it has a snapshot of its own, as in no other isolation. To add a slot
-- needs no lock: it is above the newest one.
--
-- The lock is taken by one of the last statements of a write, as that on the row of pending_holds.
CREATE FUNCTION conch.pending_floor(chain text, account bytea, lowest bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    held bigint;
    next bigint;
BEGIN
    SELECT f.nonce INTO held FROM conch.pending_floors f
     WHERE f.chain = pending_floor.chain AND f.account = pending_floor.account FOR NO KEY UPDATE;
    IF lowest < held THEN
        next := lowest;
    ELSIF current_setting('transaction_isolation') = 'read committed' THEN
        SELECT t.nonce INTO next FROM conch.pending_transactions t
         WHERE t.chain = pending_floor.chain AND t.account = pending_floor.account AND t.nonce BETWEEN held AND held + 20000 AND NOT t.final
         ORDER BY t.nonce LIMIT 1;
        IF next IS NULL THEN
            SELECT least(t.nonce, held + 20001) INTO next FROM conch.pending_transactions t
             WHERE t.chain = pending_floor.chain AND t.account = pending_floor.account ORDER BY t.nonce DESC LIMIT 1;
        END IF;
    END IF;
    IF next <> held THEN
        UPDATE conch.pending_floors f SET nonce = next WHERE f.chain = pending_floor.chain AND f.account = pending_floor.account;
    END IF;
END $$;
REVOKE ALL ON FUNCTION conch.pending_floor(text, bytea, bigint) FROM PUBLIC;
