DROP FUNCTION conch.advance(text, bigint, text);
DROP FUNCTION conch.withdraw(bigint, text[]);
DROP FUNCTION conch.register(bigint, text, text[], bigint, text);
DROP FUNCTION conch.part(text[], uuid[], boolean[], text[], text[], text[]);
DROP FUNCTION conch.beat(text[], uuid[], boolean[]);
DROP FUNCTION conch.bid(text, bigint, text, text[], bigint[], int[], boolean[], int, boolean);
DROP FUNCTION conch.evict_fences(text);
DROP FUNCTION conch.refused(text[], bigint[], text, text);
