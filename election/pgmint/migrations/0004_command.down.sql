DROP TABLE conch.command;
DROP FUNCTION conch.announce_command();
