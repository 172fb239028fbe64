package alertstest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/fence"
)

// Stores is all that a store of alerts does.
type Stores interface { //nolint:interfacebloat // the suite tries all of it
	alerts.Store
	alerts.Post
	Samples(ctx context.Context, after int64, without []int64) ([]alerts.Sample, error)
	SetSilence(ctx context.Context, one alerts.Silence) error
	EndSilence(ctx context.Context, id string) (bool, error)
}

// Leader is the token that a store of the suite takes; that of a later epoch is refused.
var Leader = fence.Token{Scope: "conch:alerts", Epoch: 1, Holder: "me", Term: fence.Term{1}}

// Suite is what each store passes. Open returns an empty one, whose leader has the token [Leader].
func Suite(t *testing.T, open func(*testing.T) Stores) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Stores){
		"rows": testRows, "the fence": testFence, "reports": testReports, "claims": testClaims, "silences": testSilences,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// What is recorded is loaded as it was, values that are no numbers and odd labels too; what has ended or is gone is not.
func testRows(t *testing.T, s Stores) {
	t.Helper()
	rows := Rows()
	record(t, s, rows)
	got := load(t, s)
	equal(t, "groups", got.Groups, rows.Groups)
	equal(t, "members", got.Members, rows.Members)
	equal(t, "tellings", got.Tellings, rows.Tellings)
	equal(t, "evaluation", got.Evaluation, rows.Evaluation)

	g, m, told := rows.Groups[0], rows.Members[0], rows.Tellings[0]
	g.Seq, g.Fires, g.Until, m.Muted, told.Doubt = g.Seq+1, false, g.Since.Add(time.Hour), "s", true
	record(t, s, alerts.Rows{Groups: []alerts.Group{g}, Members: []alerts.Standing{m}, Tellings: []alerts.Telling{told}, Ended: []alerts.Standing{m, rows.Members[1]}})
	got = load(t, s)
	equal(t, "changed groups", got.Groups, []alerts.Group{g, rows.Groups[1]})
	equal(t, "changed members", got.Members, []alerts.Standing{m})
	equal(t, "changed tellings", got.Tellings, []alerts.Telling{told, rows.Tellings[1]})
	equal(t, "the same evaluation", got.Evaluation, rows.Evaluation)

	record(t, s, alerts.Rows{Gone: []string{g.Key}})
	if got = load(t, s); len(got.Groups) != 1 || len(got.Members) != 0 || len(got.Tellings) != 1 {
		t.Errorf("after the group is gone there are %+v", got.Rows)
	}
}

// Rows are rows of every kind.
func Rows() alerts.Rows {
	at := time.Date(2026, 10, 24, 22, 0, 0, 123456000, time.UTC)
	labels := map[string]string{"scope": "a/b \"'\\ U+0000", "ü": "<!channel>"}
	fired := []alerts.Firer{{Labels: labels, Value: 1.5, Since: at}}
	message := alerts.Message{Key: "conch/c/a/1", Seq: 7, Rule: "a", Severity: "page", Status: alerts.Firing, Group: map[string]string{"scope": "x"}, Members: fired, Others: 3, Since: at, Silence: "s"}
	return alerts.Rows{
		Groups: []alerts.Group{
			{Key: "conch/c/a/1", Rule: "a", Labels: map[string]string{"scope": "x"}, Seq: 7, Fires: true, Since: at, Fired: fired, Count: 4, Silence: "s"},
			{Key: "conch/c/b/2", Rule: "b", Labels: map[string]string{}},
		},
		Members: []alerts.Standing{
			{Key: "conch/c/a/1", ID: "1", Labels: labels, Value: inf(), Since: at, Fires: at.Add(time.Minute), Seq: 7},
			{Key: "conch/c/a/1", ID: "2", Labels: map[string]string{}, Value: -2, Since: at, Muted: "s"},
		},
		Tellings: []alerts.Telling{
			{Key: "conch/c/a/1", Receiver: "pager", Told: 6, Knows: alerts.Resolved, At: at, Seq: 7, Message: message, Asked: true, Tries: 2},
			{Key: "conch/c/b/2", Receiver: "chat", Message: alerts.Message{Key: "conch/c/b/2"}},
		},
		Evaluation: &alerts.Evaluation{
			N: 3, At: at, Node: "node-1", Troubles: map[string]alerts.Failing{"b": {Since: at, NoData: true, Fault: "f"}}, Judged: map[string]bool{"a": true},
			Seen: map[string]alerts.Node{"node-1": {Name: "node-1", Life: "l", Seq: 2, Cries: 1, Hash: "h"}}, Buried: map[string]time.Time{"node-2": at}, Claims: 1, Perhaps: true, Cried: true,
		},
	}
}

func inf() float64 {
	one := 1.0
	return one / (one - 1)
}

// A deposed leader records nothing.
func testFence(t *testing.T, s Stores) {
	t.Helper()
	stale := Leader
	stale.Epoch = 9
	if err := s.Record(t.Context(), stale, Rows()); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a stale token: %v", err)
	}
	if got := load(t, s); len(got.Groups)+len(got.Members)+len(got.Tellings) != 0 || got.Evaluation != nil {
		t.Errorf("it has recorded %+v", got.Rows)
	}
}

// A node is as it has reported last, and its samples come in their order. A late report changes nothing.
func testReports(t *testing.T, s Stores) {
	t.Helper()
	report := func(life string, seq uint64, body string) alerts.Reported {
		t.Helper()
		r := alerts.Report{Node: alerts.Node{Name: "node-1", Life: life, Seq: seq, Cries: seq, Hash: "h"}, Keep: time.Hour}
		if body != "" {
			r.Body = []byte(body)
		}
		got, err := s.Report(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	equal(t, "the first answer", report("l", 2, "one"), alerts.Reported{Nodes: []string{"node-1"}})
	report("l", 1, "late")
	record(t, s, alerts.Rows{Evaluation: &alerts.Evaluation{N: 5, At: time.Now().UTC().Truncate(time.Second)}})
	equal(t, "the next answer", report("l", 3, ""), alerts.Reported{Evaluations: 5, Nodes: []string{"node-1"}})
	report("m", 1, "two")
	equal(t, "the nodes", load(t, s).Nodes, []alerts.Node{{Name: "node-1", Life: "m", Seq: 1, Cries: 1, Hash: "h"}})
	all, err := s.Samples(t.Context(), 0, nil)
	if err != nil || len(all) != 2 || string(all[0].Body) != "one" || string(all[1].Body) != "two" || all[1].Life != "m" || all[1].Node != "node-1" || all[0].Seq != 2 {
		t.Fatalf("the samples are %+v, %v", all, err)
	}
	for _, one := range []struct {
		after   int64
		without []int64
	}{{all[0].ID, nil}, {0, []int64{all[0].ID}}} {
		if rest, err := s.Samples(t.Context(), one.after, one.without); err != nil || len(rest) != 1 || rest[0].ID != all[1].ID {
			t.Errorf("after %d without %v there are %+v, %v", one.after, one.without, rest, err)
		}
	}
	if _, err := s.Report(t.Context(), alerts.Report{Node: alerts.Node{Name: "node-1", Life: "m", Seq: 2}, Keep: -time.Hour}); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Samples(t.Context(), 0, nil); err != nil || len(all) != 0 {
		t.Errorf("what is too old stays: %+v, %v", all, err)
	}
}

// One node has the claim of an evaluation, and none has that of an older one.
func testClaims(t *testing.T, s Stores) {
	t.Helper()
	claim := func(node string, n uint64, want bool) {
		t.Helper()
		if mine, err := s.Claim(t.Context(), node, n); mine != want || err != nil {
			t.Errorf("%s claims %d: %v, %v", node, n, mine, err)
		}
	}
	claim("node-1", 0, true)
	claim("node-2", 0, false)
	claim("node-1", 0, true)
	record(t, s, alerts.Rows{Evaluation: &alerts.Evaluation{N: 1, At: time.Now().UTC()}})
	claim("node-1", 0, false)
	claim("node-2", 1, true)
	if got, err := s.Look(t.Context()); err != nil || got.Claims != 3 {
		t.Errorf("there were %d claims, want 3: %v", got.Claims, err)
	}
}

// A silence is as it was set, and ends once.
func testSilences(t *testing.T, s Stores) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	one := alerts.Silence{
		ID: "s", Matchers: []alerts.Matcher{{Label: "scope", Op: "=~", Value: "a.*"}}, Since: now.Add(-time.Hour), Until: now.Add(time.Hour), By: "ann", Comment: "we know",
	}
	for _, bad := range []alerts.Silence{{ID: "x", Since: now, Until: now.Add(time.Hour)}, {ID: "x", Matchers: one.Matchers, Since: now, Until: now}, {
		ID: "x", Matchers: []alerts.Matcher{{Label: "a", Op: "=~", Value: "("}}, Since: now, Until: now.Add(time.Hour),
	}} {
		if err := s.SetSilence(t.Context(), bad); err == nil {
			t.Errorf("%+v was set", bad)
		}
	}
	if err := s.SetSilence(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	equal(t, "the silences", load(t, s).Silences, []alerts.Silence{one})
	for _, want := range []bool{true, false} {
		if ended, err := s.EndSilence(t.Context(), "s"); ended != want || err != nil {
			t.Errorf("it ends: %v, %v", ended, err)
		}
	}
	if got := load(t, s).Silences; len(got) != 1 || got[0].Until.After(time.Now().Add(time.Minute)) {
		t.Errorf("after its end there are %+v", got)
	}
}

func record(t *testing.T, s Stores, rows alerts.Rows) {
	t.Helper()
	if err := s.Record(t.Context(), Leader, rows); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s Stores) alerts.Loaded {
	t.Helper()
	got, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n%+v\nwant\n%+v", what, got, want)
	}
}
