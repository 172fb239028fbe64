package pgops_test

import (
	"testing"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// F8: a process says of itself what operators look for, and another that campaigns says nothing and is shown too. Heartbeats add
// up to those of its scopes.
func TestProcessesSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	about := pgmint.About{Version: "v1.2.3", Address: "10.0.0.7:7070", Settings: "4f00d1"}
	talker, silent := mintWith(t, pgmint.Config{URL: db.URL, About: func() pgmint.About { return about }}), mintWith(t, pgmint.Config{URL: db.URL})
	a := candidate(t, talker, "a", unhurried, mint.Strict)
	b := candidate(t, silent, "b", unhurried, mint.Strict)
	lead(t, a, "s", unhurried)
	lead(t, a, "t", unhurried)
	o := observe(t, db.URL)
	all, err := o.Processes(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v; want two", all, err)
	}
	if p := all[0]; p.ID != "a" || !p.Alive || p.Leads != 2 || p.About != about || p.Started.IsZero() || p.Locks != "session" || p.SeenAgeMS < 0 {
		t.Errorf("got %+v, want a, alive, which leads two, with %+v", p, about)
	}
	if p := all[1]; p.ID != "b" || !p.Alive || p.Leads != 0 || p.About != (pgmint.About{}) {
		t.Errorf("got %+v, want b, alive, of which nothing is known", p)
	}
	beats, err := o.Beats(t.Context())
	if err != nil || len(beats) != 1 || beats[0].Holder != "a" || beats[0].Scopes != 2 || beats[0].AgeMS < 0 {
		t.Errorf("the heartbeats are %+v, %v; want those of a, for two scopes", beats, err)
	}
	run(t, db.Connect(t), `UPDATE conch.heartbeat SET beat_at = beat_at - interval '1 hour' WHERE scope = 's'`)
	if beats, err = o.Beats(t.Context()); err != nil || len(beats) != 1 || beats[0].Late != 1 || beats[0].AgeMS > 1800_000 {
		t.Errorf("with one of two late: %+v, %v", beats, err)
	}
	_ = b.Close()
	if all, err = o.Processes(t.Context()); err != nil || len(all) != 2 || all[1].ID != "b" || all[1].Alive {
		t.Errorf("once b has ended: %+v, %v; want it last, and not alive", all, err)
	}
}
