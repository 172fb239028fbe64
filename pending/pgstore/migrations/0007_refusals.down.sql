ALTER TABLE conch.intents DROP COLUMN waits, DROP COLUMN put_off;
ALTER TABLE conch.intents
    DROP COLUMN refusals, DROP COLUMN held_cause, DROP COLUMN held_why, DROP COLUMN held_since,
    DROP COLUMN held_until, DROP COLUMN held_height, DROP COLUMN held_nonce,
    ADD COLUMN waits boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate = 'open' AND NOT cancel) STORED;
CREATE INDEX intents_waiting ON conch.intents (chain, account, seq) WHERE waits;
DROP INDEX conch.intents_listed;
CREATE INDEX intents_seq ON conch.intents (seq);
