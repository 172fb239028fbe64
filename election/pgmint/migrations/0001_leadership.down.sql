-- conch.leadership, its history and its guards stay, so that a later `migrate up` goes on from
-- them: an epoch that began again at 1 would make old tokens current.
DROP TRIGGER IF EXISTS announce ON conch.leadership;
DROP FUNCTION conch.announce();
DROP VIEW conch.leader_heartbeat;
DROP TABLE conch.process;
DROP TABLE conch.heartbeat;
DROP FUNCTION conch.fence_key(text);
DROP FUNCTION conch.lock_key(text);
