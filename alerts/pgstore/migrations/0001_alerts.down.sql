DROP FUNCTION conch.alert_claim(text, bigint), conch.alert_report(text, text, bigint, bigint, text, bytea, interval, int),
    conch.alert_record(jsonb, jsonb, text[], text[], jsonb[], float8[], timestamptz[], timestamptz[], bigint[], text[], text[], text[], text[], jsonb);
DROP TABLE conch.alert_samples, conch.alert_nodes, conch.silences, conch.alert_evaluation, conch.alert_tellings, conch.alert_members, conch.alert_groups;
