DROP FUNCTION conch.sequencer_trim(text, text[], interval[], int);
DROP INDEX conch.sequencer_attempts_done, conch.sequencer_intents_ended;
ALTER TABLE conch.sequencer_attempts DROP COLUMN landed, DROP COLUMN done_at;
