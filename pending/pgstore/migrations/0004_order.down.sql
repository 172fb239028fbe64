ALTER TABLE conch.pending_transactions DROP COLUMN epoch, DROP COLUMN write;
ALTER FUNCTION conch.pending_history() STABLE;
