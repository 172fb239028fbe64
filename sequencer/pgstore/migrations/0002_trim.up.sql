-- What has ended long ago is forgotten: requirement P41. A row of an attempt says since when nobody needs its contents, as far as
-- is known. Null: somebody may.
ALTER TABLE conch.sequencer_attempts
    ADD COLUMN landed  boolean NOT NULL DEFAULT false,       -- on the chain, in a block that need not be final yet
    ADD COLUMN done_at timestamptz;
CREATE INDEX sequencer_attempts_done ON conch.sequencer_attempts (contract, done_at) WHERE done_at IS NOT NULL;
CREATE INDEX sequencer_intents_ended ON conch.sequencer_intents (contract, ended_at) WHERE ended;

-- Which attempts of before have landed is not known, but for those whose states are there. Of the others those of the last day may
-- be in flight still, and may become final under a program of before, which does not note it: they stay until their states are
-- spent.
UPDATE conch.sequencer_attempts a
   SET landed = s.there, done_at = CASE WHEN s.there THEN NULL ELSE clock_timestamp() END
  FROM (SELECT a.contract, a.assembled, s.assembled IS NOT NULL AS there
          FROM conch.sequencer_attempts a
          LEFT JOIN (SELECT DISTINCT contract, assembled FROM conch.sequencer_states) s USING (contract, assembled)) s
 WHERE a.contract = s.contract AND a.assembled = s.assembled AND (s.there OR a.created_at < clock_timestamp() - interval '1 day');

-- trim forgets up to most intents that have ended longer ago than is said for their contracts, and the contents of up to most
-- attempts that nobody has needed for as long. It has its owner's rights, so that a node has no right to delete what is open:
-- what a dispatch or a grant of an open intent names is read at a start. What an ended intent was granted and did not land is
-- dead in a final block; what has landed is needed until its states are spent, also if the book does not know yet that it has.
CREATE FUNCTION conch.sequencer_trim(scope text, contracts text[], ages interval[], most int, OUT intents int, OUT attempts int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moment timestamptz := clock_timestamp(); -- of a volatile function no index is searched
    own    text[];
    used   bytea[]; -- few
BEGIN
    SELECT array_agg(k.contract) INTO own FROM conch.sequencer_contracts k WHERE k.contract = ANY (contracts) AND k.scope = sequencer_trim.scope;
    used := ARRAY(SELECT d.assembled FROM conch.sequencer_dispatches d WHERE d.contract = ANY (own))
         || ARRAY(SELECT g.assembled
                    FROM unnest(own) k(contract) CROSS JOIN LATERAL
                         (SELECT x.contract, x.sequence FROM conch.sequencer_intents x WHERE x.contract = k.contract AND NOT x.ended ORDER BY x.place) i
                   CROSS JOIN LATERAL (SELECT x.assembled FROM conch.sequencer_grants x WHERE x.contract = i.contract AND x.sequence = i.sequence OFFSET 0) g);
    WITH old AS MATERIALIZED (
        SELECT i.* FROM unnest(contracts, ages) AS k(contract, age) CROSS JOIN LATERAL
               (SELECT x.contract, x.sequence, x.landed FROM conch.sequencer_intents x
                 WHERE x.contract = k.contract AND x.ended AND x.ended_at < moment - k.age ORDER BY x.ended_at LIMIT most) i
         WHERE k.contract = ANY (own) LIMIT most),
    grants AS (
        DELETE FROM conch.sequencer_grants g USING old o WHERE g.contract = o.contract AND g.sequence = o.sequence
        RETURNING g.contract, g.assembled, o.landed),
    dead AS MATERIALIZED (SELECT DISTINCT g.contract, g.assembled FROM grants g WHERE g.assembled IS DISTINCT FROM g.landed),
    contents AS (
        DELETE FROM conch.sequencer_attempts a USING dead d
         WHERE a.contract = d.contract AND a.assembled = d.assembled AND NOT a.landed AND a.assembled <> ALL (used)),
    gone AS (
        DELETE FROM conch.sequencer_intents i USING old o WHERE i.contract = o.contract AND i.sequence = o.sequence RETURNING true)
    SELECT count(*) INTO sequencer_trim.intents FROM gone;
    WITH old AS MATERIALIZED (
        SELECT a.* FROM unnest(contracts, ages) AS k(contract, age) CROSS JOIN LATERAL
               (SELECT x.contract, x.assembled FROM conch.sequencer_attempts x
                 WHERE x.contract = k.contract AND x.done_at < moment - k.age AND x.assembled <> ALL (used) ORDER BY x.done_at LIMIT most) a
         WHERE k.contract = ANY (own) LIMIT most),
    gone AS (
        DELETE FROM conch.sequencer_attempts a USING old o WHERE a.contract = o.contract AND a.assembled = o.assembled RETURNING true)
    SELECT count(*) INTO sequencer_trim.attempts FROM gone;
END $$;
REVOKE ALL ON FUNCTION conch.sequencer_trim(text, text[], interval[], int) FROM PUBLIC;
