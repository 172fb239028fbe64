DROP FUNCTION conch.pending_forget(text, bytea, interval, int);
DROP INDEX conch.intents_own, conch.archived_intents_own;
