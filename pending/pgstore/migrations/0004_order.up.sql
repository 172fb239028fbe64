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
