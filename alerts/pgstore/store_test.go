package pgstore_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/alertstest"
	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func open(t *testing.T, cfg pg.Config) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	alertstest.Suite(t, func(t *testing.T) alertstest.Stores {
		t.Helper()
		return open(t, pgtest.New(t).Config())
	})
}

// No label and no value keeps anything from being recorded: neither what Postgres cannot store nor what JSON cannot say.
func TestWhatCannotBeSaid(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.New(t).Config())
	rows := alertstest.Rows()
	odd := map[string]string{"a\x00": "b\x00\xff"}
	rows.Members[0].Labels, rows.Members[0].Value = odd, math.NaN()
	rows.Groups[0].Fired[0].Labels, rows.Groups[0].Fired[0].Value = odd, math.NaN()
	rows.Tellings[0].Message.Members = rows.Groups[0].Fired
	rows.Evaluation.Troubles["b"] = alerts.Failing{Fault: "\x00"}
	if err := s.Record(t.Context(), alertstest.Leader, rows); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Members[0].Value; !math.IsNaN(v) || !math.IsNaN(got.Tellings[0].Message.Members[0].Value) {
		t.Errorf("the value is %v", v)
	}
	if got.Members[0].Labels["a\ufffd"] != "b\ufffd\ufffd" {
		t.Errorf("the labels are %q", got.Members[0].Labels)
	}
	if err := s.SetSilence(t.Context(), alerts.Silence{
		ID: "s", Matchers: []alerts.Matcher{{Label: "a", Op: "=", Value: "\x00"}}, Until: time.Now(), Comment: "\x00\xff",
	}); err != nil {
		t.Error(err)
	}
}

// Thousands of members are recorded at once.
func TestThousands(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.New(t).Config())
	var rows alerts.Rows
	for i := range 5000 {
		rows.Members = append(rows.Members, alerts.Standing{Key: "k", ID: fmt.Sprint(i), Labels: map[string]string{"scope": fmt.Sprint(i)}, Since: time.Now()})
	}
	if err := s.Record(t.Context(), alertstest.Leader, rows); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), alertstest.Leader, alerts.Rows{Ended: rows.Members}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load(t.Context()); err != nil || len(got.Members) != 0 {
		t.Errorf("%d members, %v", len(got.Members), err)
	}
}

// The tables cannot be removed while something fires or is in doubt. Without them a program says what is missing.
func TestTablesAreRemovedOnlyWhenAllHasEnded(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn := open(t, db.Config()), db.Connect(t)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), alertstest.Leader, alertstest.Rows()); err != nil {
		t.Fatal(err)
	}
	var still *migrate.OpenError
	if err := migrate.Down(t.Context(), conn, nil, pgstore.Tables); !errors.As(err, &still) || still.Open != [2]int{1, 1} {
		t.Errorf("while something fires: %v", err)
	}
	if err := s.Record(t.Context(), alertstest.Leader, alerts.Rows{Gone: []string{"conch/c/a/1"}}); err != nil {
		t.Fatal(err)
	}
	if err := migrate.Down(t.Context(), conn, nil, pgstore.Tables); err != nil {
		t.Fatal(err)
	}
	var schema *migrate.VersionError
	if err := s.Check(t.Context()); !errors.As(err, &schema) || schema.Version != 0 {
		t.Errorf("without tables: %v, want a VersionError", err)
	}
	var left int
	if err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'conch'::regnamespace AND c.relname ~ '^(alert_|silences)')
		+ (SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'conch'::regnamespace AND p.proname ~ '^alert_')`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d things are left, %v", left, err)
	}
	if err := pgstore.Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
}

// No SQL of this package springs a trap of a role that may create objects in public.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	pgtest.SpringsNoTrap(t, `SELECT FROM unnest(ARRAY['x'::bytea])`, func(t *testing.T, db *pgtest.DB, wide bool) {
		t.Helper()
		opens := pgstore.Open
		if wide {
			opens = pgstore.OpenWide
		}
		s, err := opens(t.Context(), pg.Config{URL: db.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		everything(t, s)
	})
}

// What is promised is durable: what a leader records, what a node has told, and silences.
func TestWhatIsPromisedIsDurable(t *testing.T) {
	t.Parallel()
	pgtest.Durable(t, func(t *testing.T, _ *pgtest.DB, cfg pg.Config) {
		t.Helper()
		everything(t, open(t, cfg))
	}, "INSERT alert_groups", "INSERT alert_members", "INSERT alert_tellings", "UPDATE alert_evaluation", "INSERT alert_nodes", "INSERT silences", "UPDATE silences")
}

// everything runs each kind of statement.
func everything(t *testing.T, s *pgstore.Store) {
	t.Helper()
	rows := alertstest.Rows()
	recorded := s.Record(t.Context(), alertstest.Leader, rows)
	again := s.Record(t.Context(), alertstest.Leader, alerts.Rows{Ended: rows.Members, Gone: []string{rows.Groups[0].Key}})
	_, report := s.Report(t.Context(), alerts.Report{Node: alerts.Node{Name: "n", Life: "l", Seq: 1}, Body: []byte("b"), Keep: time.Hour})
	_, claim := s.Claim(t.Context(), "n", 3)
	set := s.SetSilence(t.Context(), alerts.Silence{ID: "s", Matchers: []alerts.Matcher{{Label: "a", Op: "="}}, Since: time.Now(), Until: time.Now().Add(time.Hour)})
	ended, end := s.EndSilence(t.Context(), "s")
	_, loaded := s.Load(t.Context())
	_, surveyed := s.Survey(t.Context())
	_, looked := s.Look(t.Context())
	samples, read := s.Samples(t.Context(), 0, nil)
	if err := errors.Join(recorded, again, report, claim, set, end, loaded, surveyed, looked, read); err != nil || !ended || len(samples) != 1 {
		t.Errorf("%v; it ended: %v; %d samples", err, ended, len(samples))
	}
}
