DROP FUNCTION conch.history_trim(timestamptz, bigint, int);
DROP TABLE conch.command;
DROP FUNCTION conch.announce_command();
