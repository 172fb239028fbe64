-- Why an intent got no slot when it was tried. In relaxed order it is put off meanwhile, and others pass it: then it
-- no longer waits but is put off, in an index of its own, so that neither is ever read past the other.

ALTER TABLE conch.intents
    ADD COLUMN refusals    int NOT NULL DEFAULT 0,          -- in a row, for the same cause
    ADD COLUMN held_cause  text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN held_why    text NOT NULL DEFAULT '',
    ADD COLUMN held_since  timestamptz,
    ADD COLUMN held_until  timestamptz,                     -- NULL: it is tried when its turn comes
    ADD COLUMN held_height bigint NOT NULL DEFAULT 0,       -- the chain's at the first refusal
    ADD COLUMN held_nonce  bigint NOT NULL DEFAULT 0;       -- the one that it would have got then

-- A program that does not know this column passes what is put off, and leaves it to one that does.
ALTER TABLE conch.intents
    DROP COLUMN waits,
    ADD COLUMN waits boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate = 'open' AND NOT cancel AND held_until IS NULL) STORED,
    ADD COLUMN put_off boolean NOT NULL GENERATED ALWAYS AS (nonce IS NULL AND fate = 'open' AND NOT cancel AND held_until IS NOT NULL) STORED;
CREATE INDEX intents_waiting ON conch.intents (chain, account, seq) WHERE waits;
CREATE INDEX intents_put_off ON conch.intents (chain, account, seq) WHERE put_off;
CREATE INDEX intents_due ON conch.intents (chain, account, held_until) WHERE put_off;
CREATE INDEX intents_held ON conch.intents (chain, account, held_cause, seq) WHERE put_off;

-- For lists, and for nothing else. Where many rows wait, the planner took an index on seq itself for the queue too,
-- and read it past all finished rows.
DROP INDEX conch.intents_seq;
CREATE INDEX intents_listed ON conch.intents ((seq + 0));
