DROP FUNCTION conch.fence(text, bigint, uuid);
DROP FUNCTION conch.fence_closely(text, bigint, uuid);
DROP FUNCTION conch.timeline();
DROP FUNCTION conch.system_id();
