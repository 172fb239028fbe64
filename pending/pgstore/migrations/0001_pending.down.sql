-- Signed bytes that may have left are gone with these tables: `conch migrate down`
-- refuses while a transaction is not final.
DROP TABLE conch.hook_waits, conch.hooks, conch.archived_attempts, conch.archived_transactions, conch.archived_intents, conch.pending_events, conch.pending_floors, conch.pending_holds,
    conch.pending_attempts, conch.pending_transactions, conch.pending_accounts, conch.intents;
DROP FUNCTION conch.notify_pending(), conch.notify_intents(), conch.notify_cancel(), conch.notify_events(), conch.pending_trim(interval, int), conch.pending_history(),
    conch.pending_claim(text, bytea, text, bigint, bigint), conch.pending_given(bigint, bigint), conch.pending_floor(text, bytea, bigint),
    conch.pending_archive(text, bytea, interval, int), conch.pending_forget(text, bytea, interval, int);
