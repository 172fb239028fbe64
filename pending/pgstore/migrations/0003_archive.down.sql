-- What was moved comes back: its keys count.
INSERT INTO conch.intents (id, seq, chain, account, idempotency_key, to_account, value, data, gas, creator, created_at, nonce, fate, why, cancel)
OVERRIDING SYSTEM VALUE SELECT id, seq, chain, account, idempotency_key, to_account, value, data, gas, creator, created_at, nonce, fate, why, cancel
  FROM conch.archived_intents;
INSERT INTO conch.pending_transactions (chain, account, nonce, intent, hash, watched, state, block_hash, block_number, failed, final, since_block, creator, created_at, updated_at)
SELECT chain, account, nonce, intent, hash, watched, state, block_hash, block_number, failed, final, since_block, creator, created_at, updated_at
  FROM conch.archived_transactions;
INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, fee_max, fee_tip, gas, filler, created_at)
SELECT chain, account, nonce, n, hash, signed, fee_max, fee_tip, gas, filler, created_at FROM conch.archived_attempts;
DROP FUNCTION conch.pending_archive(text, bytea, interval, int), conch.pending_given(bigint, bigint);
DROP TABLE conch.archived_intents, conch.archived_transactions, conch.archived_attempts;
ALTER TABLE conch.intents DROP COLUMN slotless;
