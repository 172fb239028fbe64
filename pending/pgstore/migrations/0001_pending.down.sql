-- Signed bytes that may have left are gone with these tables: `conch migrate down`
-- refuses while a transaction is not final.
DROP FUNCTION conch.pending_reserve(text, uuid[], bytea[], text[], text[], bigint[], int[], text[], numeric[]),
    conch.pending_excess(conch.pending_policies, timestamptz, timestamptz, text[], numeric[]),
    conch.pending_take(conch.pending_policies, timestamptz, timestamptz, uuid[], int[], text[], numeric[]),
    conch.pending_kept(bigint, bigint), conch.pending_clear(interval, int);
DROP TABLE conch.pending_returned, conch.pending_reserved, conch.pending_spent, conch.pending_policies;
DROP TABLE conch.hook_waits, conch.hooks, conch.archived_attempts, conch.archived_transactions, conch.archived_intents, conch.pending_events, conch.pending_floors, conch.pending_holds,
    conch.pending_attempts, conch.pending_transactions, conch.pending_lives, conch.pending_accounts, conch.intents;
DROP FUNCTION conch.pending_give_back(), conch.notify_pending(), conch.notify_intents(), conch.notify_cancel(), conch.notify_events(), conch.pending_trim(interval, int), conch.pending_history(),
    conch.pending_claim(text, bytea, text, bigint, bigint), conch.pending_given(bigint, bigint), conch.pending_live(text, bytea, bigint, bigint, bigint), conch.pending_floor(text, bytea, bigint),
    conch.pending_archive(text, bytea, interval, int), conch.pending_forget(text, bytea, interval, int);
