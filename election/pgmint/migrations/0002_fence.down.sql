DROP FUNCTION conch.fence(text, bigint, uuid);
