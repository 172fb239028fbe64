DROP FUNCTION conch.slot_end(text, uuid, int), conch.slot_begin(text, bigint, text, interval, interval, uuid, boolean),
    conch.slot_free(timestamptz, timestamptz, interval);
DROP TABLE conch.slots;
