-- What fires, who was told, and what nodes report.

-- The members of a rule that are told together. The number rises with each change that is worth a message.
CREATE TABLE conch.alert_groups (
    key     text COLLATE "C" PRIMARY KEY,                          -- conch/CLUSTER/RULE/HASH(labels)
    rule    text COLLATE "C" NOT NULL,
    labels  jsonb NOT NULL,
    seq     bigint NOT NULL,
    fires   boolean NOT NULL,
    since   timestamptz,
    until   timestamptz,                                           -- null: it fires, or never has
    fired   jsonb NOT NULL,                                        -- some of what has fired since
    count   int NOT NULL,                                          -- how many that were
    silence text COLLATE "C" NOT NULL                              -- whose end has made the number
) WITH (fillfactor = 50);

-- A member whose condition is true, or that still fires.
CREATE TABLE conch.alert_members (
    key    text COLLATE "C" NOT NULL,
    id     text COLLATE "C" NOT NULL,                              -- of its labels
    labels jsonb NOT NULL,
    value  float8 NOT NULL,
    since  timestamptz NOT NULL,
    fires  timestamptz,                                            -- null: it is pending
    seq    bigint NOT NULL,                                        -- of its group when that has first said it; 0: it has not
    muted  text COLLATE "C" NOT NULL,                              -- the silence that keeps it from being told
    PRIMARY KEY (key, id)
);

-- What one receiver knows of one group.
CREATE TABLE conch.alert_tellings (
    key      text COLLATE "C" NOT NULL,
    receiver text COLLATE "C" NOT NULL,
    told     bigint NOT NULL,                                      -- the number of the group up to which it is told, or need not be
    knows    smallint NOT NULL,
    at       timestamptz,
    seq      bigint NOT NULL,
    message  jsonb NOT NULL,                                       -- that was sent last
    asked    boolean NOT NULL,                                     -- it has no answer yet
    tries    int NOT NULL,
    doubt    boolean NOT NULL,                                     -- an older message may still arrive
    PRIMARY KEY (key, receiver)
) WITH (fillfactor = 50);

-- The last evaluation: one row. Who sees that its number rises knows that somebody evaluates.
CREATE TABLE conch.alert_evaluation (
    one          boolean PRIMARY KEY DEFAULT true CHECK (one),
    n            bigint NOT NULL DEFAULT 0,
    at           timestamptz,
    node         text COLLATE "C" NOT NULL DEFAULT '',
    rest         jsonb NOT NULL DEFAULT '{}',                      -- rules without data, and nodes as they were seen
    claims       bigint NOT NULL DEFAULT 0,                        -- how often a node has said that nobody evaluates
    claimed      bigint,                                           -- after which evaluation
    claimed_by   text COLLATE "C",
    claimed_at   timestamptz
) WITH (fillfactor = 50);
INSERT INTO conch.alert_evaluation DEFAULT VALUES;

-- A silence keeps members from being told. It is kept for thirty days after its end.
CREATE TABLE conch.silences (
    id       text COLLATE "C" PRIMARY KEY,
    matchers jsonb NOT NULL,
    since    timestamptz NOT NULL,
    until    timestamptz NOT NULL,
    by       text NOT NULL,
    comment  text NOT NULL
);
CREATE INDEX silences_until ON conch.silences (until);

-- A process that reports. Whether it lives says its number, which rises: no clocks are compared.
CREATE TABLE conch.alert_nodes (
    node  text COLLATE "C" PRIMARY KEY,
    life  text COLLATE "C" NOT NULL,                               -- another one each time it starts
    seq   bigint NOT NULL,
    cries bigint NOT NULL,                                         -- how often it has told in this life that it cannot ask the database
    hash  text COLLATE "C" NOT NULL,                               -- of the rules that it has
    at    timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The samples of nodes, in the bytes that those who evaluate agree on.
CREATE TABLE conch.alert_samples (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node text COLLATE "C" NOT NULL,
    life text COLLATE "C" NOT NULL,
    seq  bigint NOT NULL,
    at   timestamptz NOT NULL DEFAULT now(),
    body bytea NOT NULL
);
ALTER TABLE conch.alert_samples ALTER body SET STORAGE EXTERNAL;   -- they are compressed already
CREATE INDEX alert_samples_at ON conch.alert_samples (node, at);

-- alert_record writes what a leader has decided, who fences the transaction. What has ended goes first, since it may begin anew in the same write.
CREATE FUNCTION conch.alert_record(groups jsonb, tellings jsonb, keys text[], ids text[], labels jsonb[], vals float8[], since timestamptz[], fires timestamptz[],
                                   seqs bigint[], muted text[], ended_keys text[], ended_ids text[], gone text[], evaluation jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM conch.alert_members m USING unnest(alert_record.ended_keys, alert_record.ended_ids) AS u(key, id) WHERE m.key = u.key AND m.id = u.id;
    INSERT INTO conch.alert_groups AS g (key, rule, labels, seq, fires, since, until, fired, count, silence)
    SELECT u.key, u.rule, u.labels, u.seq, u.fires, u.since, u.until, u.fired, u.count, u.silence
      FROM jsonb_to_recordset(alert_record.groups) AS u(key text, rule text, labels jsonb, seq bigint, fires boolean, since timestamptz, until timestamptz, fired jsonb, count int, silence text)
    ON CONFLICT ON CONSTRAINT alert_groups_pkey DO UPDATE SET seq = excluded.seq, fires = excluded.fires, since = excluded.since, until = excluded.until,
        fired = excluded.fired, count = excluded.count, silence = excluded.silence;
    INSERT INTO conch.alert_members AS m (key, id, labels, value, since, fires, seq, muted)
    SELECT u.key, u.id, u.labels, u.value, u.since, u.fires, u.seq, u.muted
      FROM unnest(alert_record.keys, alert_record.ids, alert_record.labels, alert_record.vals, alert_record.since, alert_record.fires, alert_record.seqs, alert_record.muted)
               AS u(key, id, labels, value, since, fires, seq, muted)
    ON CONFLICT ON CONSTRAINT alert_members_pkey DO UPDATE SET value = excluded.value, since = excluded.since, fires = excluded.fires, seq = excluded.seq, muted = excluded.muted;
    INSERT INTO conch.alert_tellings AS t (key, receiver, told, knows, at, seq, message, asked, tries, doubt)
    SELECT u.key, u.receiver, u.told, u.knows, u.at, u.seq, u.message, u.asked, u.tries, u.doubt
      FROM jsonb_to_recordset(alert_record.tellings) AS u(key text, receiver text, told bigint, knows smallint, at timestamptz, seq bigint, message jsonb, asked boolean, tries int, doubt boolean)
    ON CONFLICT ON CONSTRAINT alert_tellings_pkey DO UPDATE SET told = excluded.told, knows = excluded.knows, at = excluded.at, seq = excluded.seq, message = excluded.message,
        asked = excluded.asked, tries = excluded.tries, doubt = excluded.doubt;
    DELETE FROM conch.alert_tellings t WHERE t.key = ANY (alert_record.gone);
    DELETE FROM conch.alert_members m WHERE m.key = ANY (alert_record.gone);
    DELETE FROM conch.alert_groups g WHERE g.key = ANY (alert_record.gone);
    IF evaluation IS NOT NULL THEN
        UPDATE conch.alert_evaluation e SET n = (evaluation->>'n')::bigint, at = (evaluation->>'at')::timestamptz, node = evaluation->>'node', rest = evaluation->'rest';
        DELETE FROM conch.alert_nodes d WHERE d.at < now() - interval '1 hour';
        DELETE FROM conch.silences s WHERE s.until < now() - interval '30 days';
    END IF;
END $$;

-- alert_report notes what a node says of itself, and deletes up to so many of its samples that are older than keep, and of others' that are older than a day. A
-- report that another one of the same life has overtaken changes nothing.
CREATE FUNCTION conch.alert_report(node text, life text, seq bigint, cries bigint, hash text, body bytea, keep interval, most int, OUT evaluations bigint, OUT nodes text[])
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO conch.alert_nodes AS d (node, life, seq, cries, hash, at)
    VALUES (alert_report.node, alert_report.life, alert_report.seq, alert_report.cries, alert_report.hash, now())
    ON CONFLICT ON CONSTRAINT alert_nodes_pkey DO UPDATE SET life = excluded.life, seq = excluded.seq, cries = excluded.cries, hash = excluded.hash, at = excluded.at
     WHERE d.life <> excluded.life OR d.seq < excluded.seq;
    IF FOUND AND alert_report.body IS NOT NULL THEN
        INSERT INTO conch.alert_samples (node, life, seq, body) VALUES (alert_report.node, alert_report.life, alert_report.seq, alert_report.body);
    END IF;
    DELETE FROM conch.alert_samples s WHERE s.id = ANY (ARRAY(
        SELECT x.id FROM conch.alert_samples x WHERE x.node = alert_report.node AND x.at < now() - alert_report.keep ORDER BY x.at LIMIT alert_report.most));
    DELETE FROM conch.alert_samples s WHERE s.id = ANY (ARRAY(
        SELECT x.id FROM conch.alert_samples x WHERE x.at < now() - greatest(alert_report.keep, interval '1 day') LIMIT alert_report.most FOR UPDATE SKIP LOCKED));
    SELECT e.n INTO evaluations FROM conch.alert_evaluation e;
    nodes := ARRAY(SELECT d.node FROM conch.alert_nodes d WHERE d.at >= now() - interval '1 hour' ORDER BY d.node);
END $$;

-- alert_claim reports whether a node is to say that nobody evaluates, since an evaluation that is the last one still. The claim of another node counts for two minutes.
CREATE FUNCTION conch.alert_claim(node text, n bigint) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE conch.alert_evaluation e SET claims = e.claims + 1, claimed = alert_claim.n, claimed_by = alert_claim.node, claimed_at = now()
     WHERE e.n = alert_claim.n AND (e.claimed IS DISTINCT FROM alert_claim.n OR e.claimed_by = alert_claim.node
           OR e.claimed_at NOT BETWEEN now() - interval '2 minutes' AND now() + interval '2 minutes');
    RETURN FOUND;
END $$;
