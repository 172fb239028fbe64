package alerts

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/alertstest"
	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// operate does everything that a node does for alerts, under a role.
func operate(ctx context.Context, cfg pg.Config, token fence.Token) error {
	s, err := pgstore.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	rows, name := alertstest.Rows(), rand.Text()
	all := []error{s.Check(ctx), s.Record(ctx, token, rows), s.Record(ctx, token, rows), s.Record(ctx, token, alerts.Rows{Ended: rows.Members, Gone: []string{rows.Groups[0].Key}, Evaluation: rows.Evaluation})}
	for seq := range uint64(2) {
		_, err := s.Report(ctx, alerts.Report{Node: alerts.Node{Name: name, Life: "l", Seq: seq + 1}, Body: []byte("b"), Keep: -time.Hour})
		all = append(all, err)
	}
	now := time.Now()
	silence := alerts.Silence{ID: name, Matchers: []alerts.Matcher{{Label: "a", Op: "=", Value: "b"}}, Since: now, Until: now.Add(time.Hour)}
	_, claimed := s.Claim(ctx, name, 3)
	all = append(all, claimed, s.SetSilence(ctx, silence), s.SetSilence(ctx, silence))
	_, ended := s.EndSilence(ctx, name)
	_, loaded := s.Load(ctx)
	_, read := s.Samples(ctx, 0, nil)
	return errors.Join(append(all, ended, loaded, read)...)
}

// S29: the grants of deploy/grants.sql are enough for a node, and it needs each of them.
func TestGrants(t *testing.T) {
	t.Parallel()
	c := pgtest.Granted(t, pgtest.New(t))
	token, _ := nodetest.Lead(t, c.URL, "n1", Scope, time.Minute)
	url := pg.Config{URL: c.As(t, c.Node)}
	c.NeedsEach(t, "^(alert|silence)", 20, func() error { return operate(t.Context(), url, token) })
}

// S29: an observer sees what fires and who was told, and neither what nodes report nor what receivers were sent; a program that fences its own
// transactions sees nothing of it.
func TestGrantsAreNarrow(t *testing.T) {
	t.Parallel()
	c := pgtest.Granted(t, pgtest.New(t))
	for _, name := range c.Privileges(t, c.Connect(t), "^(alert|silence)") {
		if who, what, _ := strings.Cut(name, ": "); who == "fence" || who == "observer" && !strings.HasPrefix(what, "SELECT") {
			t.Errorf("%s is granted", name)
		}
	}
	observer := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Observer)})
	for _, sql := range []string{`SELECT body FROM conch.alert_samples`, `SELECT message FROM conch.alert_tellings`} {
		if _, err := observer.Exec(t.Context(), sql); pg.Code(err) != "42501" {
			t.Errorf("an observer: %s: %v, want 42501", sql, err)
		}
	}
	store, err := pgstore.Open(t.Context(), pg.Config{URL: c.As(t, c.Observer)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Survey(t.Context()); err != nil {
		t.Errorf("doctor as an observer: %v", err)
	}
}

func TestNoIndexIsSortedByALocale(t *testing.T) {
	t.Parallel()
	nodetest.NoLocaleSorts(t)
}

func TestThePrintedSchemaIsTheSchema(t *testing.T) {
	t.Parallel()
	nodetest.ThePrintedSchemaIsTheSchema(t, []node.Kind{Kind()})
}
