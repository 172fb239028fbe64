-- Signed bytes that may have left are gone with these tables: `conch migrate down`
-- refuses while a transaction is not final.
DROP TABLE conch.pending_attempts, conch.pending_transactions, conch.pending_accounts, conch.intents;
DROP FUNCTION conch.notify_pending(), conch.notify_intents(), conch.pending_history(),
    conch.pending_claim(text, bytea, text);
