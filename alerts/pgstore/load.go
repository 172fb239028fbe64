package pgstore

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/alerts"
)

// Load implements [alerts.Store]. It needs no leadership: pages of every node show what it returns.
func (s *Store) Load(ctx context.Context) (alerts.Loaded, error) { return s.load(ctx, `message`) }

// Survey is Load without the messages that were sent, which an observer may not read.
func (s *Store) Survey(ctx context.Context) (alerts.Loaded, error) {
	return s.load(ctx, `'{}'::jsonb`)
}

func (s *Store) load(ctx context.Context, message string) (out alerts.Loaded, err error) {
	var batch pgx.Batch
	batch.Queue(`SELECT key, rule, labels, seq, fires, since, until, fired, count, silence FROM conch.alert_groups ORDER BY key`).Query(func(rows pgx.Rows) (err error) {
		out.Groups, err = pgx.CollectRows(rows, scanGroup)
		return err
	})
	batch.Queue(`SELECT key, id, labels, value, since, fires, seq, muted FROM conch.alert_members ORDER BY key, id`).Query(func(rows pgx.Rows) (err error) {
		out.Members, err = pgx.CollectRows(rows, scanMember)
		return err
	})
	batch.Queue(`SELECT key, receiver, told, knows, at, seq, ` + message + `, asked, tries, doubt FROM conch.alert_tellings ORDER BY key, receiver`).Query(func(rows pgx.Rows) (err error) {
		out.Tellings, err = pgx.CollectRows(rows, scanTelling)
		return err
	})
	batch.Queue(`SELECT n, at, node, rest FROM conch.alert_evaluation`).QueryRow(func(row pgx.Row) (err error) {
		out.Evaluation, err = scanEvaluation(row)
		return err
	})
	queueLook(&batch, &out.Looked)
	batch.Queue(`SELECT pg_catalog.clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&out.At) })
	if err := s.pools.Readers.SendBatch(ctx, &batch).Close(); err != nil {
		return alerts.Loaded{}, err
	}
	out.At = out.At.UTC()
	return out, nil
}

// Look implements [alerts.Store].
func (s *Store) Look(ctx context.Context) (out alerts.Looked, err error) {
	var batch pgx.Batch
	queueLook(&batch, &out)
	return out, s.pools.Readers.SendBatch(ctx, &batch).Close()
}

func queueLook(batch *pgx.Batch, out *alerts.Looked) {
	batch.Queue(`SELECT id, matchers, since, until, by, comment FROM conch.silences ORDER BY id`).Query(func(rows pgx.Rows) (err error) {
		out.Silences, err = pgx.CollectRows(rows, scanSilence)
		return err
	})
	batch.Queue(`SELECT node, life, seq, cries, hash FROM conch.alert_nodes ORDER BY node`).Query(func(rows pgx.Rows) (err error) {
		out.Nodes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[alerts.Node])
		return err
	})
	batch.Queue(`SELECT claims FROM conch.alert_evaluation`).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Claims) })
}

func scanSilence(row pgx.CollectableRow) (s alerts.Silence, err error) {
	err = row.Scan(&s.ID, &s.Matchers, &s.Since, &s.Until, &s.By, &s.Comment)
	s.Since, s.Until = s.Since.UTC(), s.Until.UTC()
	return s, err
}

func scanGroup(row pgx.CollectableRow) (g alerts.Group, err error) {
	var since, until *time.Time
	var fired []firerRow
	err = row.Scan(&g.Key, &g.Rule, &g.Labels, &g.Seq, &g.Fires, &since, &until, &fired, &g.Count, &g.Silence)
	if g.Since, g.Until = orZero(since), orZero(until); err == nil {
		g.Fired, err = unfirers(fired)
	}
	return g, err
}

func scanMember(row pgx.CollectableRow) (m alerts.Standing, err error) {
	var fires *time.Time
	err = row.Scan(&m.Key, &m.ID, &m.Labels, &m.Value, &m.Since, &fires, &m.Seq, &m.Muted)
	m.Since, m.Fires = m.Since.UTC(), orZero(fires)
	return m, err
}

func scanTelling(row pgx.CollectableRow) (t alerts.Telling, err error) {
	var at *time.Time
	var m messageRow
	err = row.Scan(&t.Key, &t.Receiver, &t.Told, &t.Knows, &at, &t.Seq, &m, &t.Asked, &t.Tries, &t.Doubt)
	if t.At = orZero(at); err != nil {
		return t, err
	}
	t.Message = alerts.Message{
		Key: t.Key, Seq: t.Seq, Rule: m.Rule, Severity: m.Severity, Status: m.Status, Group: m.Group, Others: m.Others, Since: m.Since, Until: m.Until, Silence: m.Silence,
	}
	t.Message.Members, err = unfirers(m.Members)
	return t, err
}

// scanEvaluation returns nil if nobody has evaluated yet.
func scanEvaluation(row pgx.Row) (*alerts.Evaluation, error) {
	var e alerts.Evaluation
	var at *time.Time
	var rest []byte
	if err := row.Scan(&e.N, &at, &e.Node, &rest); err != nil || at == nil {
		return nil, err
	}
	var r restRow
	if err := json.Unmarshal(rest, &r); err != nil {
		return nil, err
	}
	e.At, e.Troubles, e.Judged, e.Seen, e.Buried, e.Claims, e.Perhaps, e.Cried = at.UTC(), r.Troubles, r.Judged, r.Seen, r.Buried, r.Claims, r.Perhaps, r.Cried
	return &e, nil
}

func unfirers(rows []firerRow) (all []alerts.Firer, err error) {
	for _, r := range rows {
		f := alerts.Firer{Labels: r.Labels, Since: r.Since}
		if f.Value, err = strconv.ParseFloat(r.Value, 64); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
