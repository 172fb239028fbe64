-- Grants that have left are gone with these tables: `conch migrate down` refuses while an intent or a dispatch is open.
DROP FUNCTION conch.sequencer_turn(text, bigint, bigint, text[]), conch.sequencer_begin(text, bigint, text),
    conch.sequencer_trim(text, text[], interval[], int);
DROP TABLE conch.sequencer_early, conch.sequencer_missing, conch.sequencer_states, conch.sequencer_dispatches,
    conch.sequencer_attempts, conch.sequencer_grants, conch.sequencer_intents, conch.sequencer_contracts, conch.sequencer_nodes;
