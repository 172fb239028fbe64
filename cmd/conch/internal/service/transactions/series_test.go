package transactions

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/pending"
)

// hadSome gives the world's past one transaction in each of two steps.
func (w *world) hadSome() {
	w.api.series.now = func() time.Time { return time.Unix(3600, 0) }
	w.store.counts = []pending.Count{{Account: payerAccount.Address, State: pending.Queued, N: 2}, {Account: payerAccount.Address, State: pending.InBlock.String(), N: 1}}
	w.api.series.note(time.Unix(3570, 0), w.store.counts)
	w.api.series.note(time.Unix(3600, 0), w.store.counts[:1])
}

// note counts at an instant.
func (s *series) note(at time.Time, found []pending.Count) {
	now := s.now
	defer func() { s.now = now }()
	s.now = func() time.Time { return at }
	s.counts.note(payerAccount.Chain.ID(), found)
	of := s.counts.counted()
	s.hour.note(at, of)
	s.day.note(at, of)
}

const toSeries = "GET /v1/series?name=pending_transactions"

var seriesAnswers = []exchange{
	{Name: "the last hour", Given: (*world).hadSome, Ask: toSeries, Status: 200, Want: `{"name":"pending_transactions","from":"1970-01-01T00:59:30Z","step_ms":15000,"series":[` +
		`{"state":"queued","values":[2,null,2]},{"state":"future","values":[0,null,0]},{"state":"ready","values":[0,null,0]},{"state":"broadcast","values":[0,null,0]},` +
		`{"state":"in_block","values":[1,null,0]},{"state":"retracted","values":[0,null,0]},{"state":"finality_timeout","values":[0,null,0]}]}`},
	{Name: "of one account", Given: (*world).hadSome, Ask: toSeries + "&account=payer&since=1970-01-01T00:59:55Z", Status: 200, Want: `"from":"1970-01-01T01:00:00Z","step_ms":15000,"series":[{"state":"queued","values":[2]}`},
	{Name: "the last day", Given: (*world).hadSome, Ask: toSeries + "&since=1969-12-31T01:00:00Z", Status: 200, Want: `"from":"1970-01-01T00:55:00Z","step_ms":300000,"series":[{"state":"queued","values":[2,2]}`},
	{Name: "nothing was counted yet", Ask: toSeries, Status: 200, Want: `"series":[{"state":"queued","values":[]}`},
	{Name: "no name", Ask: "GET /v1/series", Status: 400, Want: `"field":"name"`},
	{Name: "a name that is none of them", Ask: "GET /v1/series?name=conch_is_leader", Status: 400, Want: `is none of [pending_transactions]`},
	{Name: "no time", Ask: toSeries + "&since=yesterday", Status: 400, Want: `"field":"since"`},
	{Name: "an unknown account", Ask: toSeries + "&account=nobody", Status: 422, Want: "unknown-account"},
}

// F8: of each step the most is remembered, in short steps for an hour and in long ones for a day, and nothing while the database is away:
// the last numbers would be false.
func TestSeriesRemembersADay(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, at := w.api.series, time.Unix(0, 0)
	s.now = func() time.Time { return at }
	for i := range 26 * 60 * 4 {
		at = time.Unix(int64(i*15), 0)
		w.store.counts = []pending.Count{{Account: payerAccount.Address, State: pending.Queued, N: (i+7)%20 + 1}}
		w.store.err = nil
		if i%960 >= 940 { // five minutes of each four hours
			w.store.err = errors.New("away")
		}
		s.look(t.Context())
	}
	queued := func(since time.Time) (values []*int, step int64) {
		of := s.since(since, nil)
		if of.Lines[0].State != pending.Queued {
			t.Fatalf("the first is of %s", of.Lines[0].State)
		}
		return of.Lines[0].Values, of.StepMS
	}
	if hour, step := queued(at.Add(-time.Hour + time.Second)); step != 15_000 || len(hour) != 240 || hour[239] == nil || *hour[239] != 7 {
		t.Errorf("of the hour: %d numbers each %d ms, the last is %v", len(hour), step, hour[len(hour)-1])
	}
	day, step := queued(at.Add(-24*time.Hour + 5*time.Minute))
	unknown := 0
	for _, n := range day {
		if n == nil {
			unknown++
		} else if *n != 20 {
			t.Errorf("a step of five minutes has %d, want the most of it, 20", *n)
		}
	}
	if step != 300_000 || len(day) != 288 || unknown != 6 {
		t.Errorf("of the day: %d numbers each %d ms, %d unknown; want 288, 300000 and 6", len(day), step, unknown)
	}
	if n := len(s.hour.points) + len(s.day.points); n != 240+288 {
		t.Errorf("%d points are kept", n)
	}
	at = time.Unix(0, 0) // the clock was put back
	s.look(t.Context())
	if hour, _ := queued(at.Add(-time.Minute)); len(hour) == 0 {
		t.Error("nothing is known once the clock was put back")
	}
}

// The node that leads an account tells its alarms, with what they mean and what to do; another one does not know them. A repeated one is one.
func TestAlarmsOfAnAccount(t *testing.T) {
	t.Parallel()
	s := newService(node.Frame{ID: "node-1", Log: slog.New(slog.DiscardHandler)}, nil)
	nonce := uint64(7)
	funds := pending.Alarm{Cause: pending.Funds, Whole: true, Raised: true, Why: "it has 3, and\u202e 5 are needed"}
	stuck := pending.Alarm{Cause: pending.Unsignable, Index: nonce, Raised: true}
	for _, a := range []pending.Alarm{stuck, funds, {Cause: pending.Unclear, Intent: testID(firstID), Raised: true, Whole: true}, funds} {
		s.alarm(payerAccount, a)
	}
	all := s.transactions.alarms(payerAccount.id())
	var said []string
	for _, a := range all {
		said = append(said, fmt.Sprintf("%s %v %s %s", a.Cause, a.Nonce != nil && *a.Nonce == nonce, a.Intent, a.Error))
		if a.Means != meaning[causeOf(t, a.Cause)] || a.Remedy == "" || a.Since.IsZero() {
			t.Errorf("got %+v", a)
		}
	}
	if got := strings.Join(said, "; "); got != `unsignable true  ; unclear false `+firstID+` ; funds false  it has 3, and\u202e 5 are needed` {
		t.Errorf("got %s", got)
	}
	s.accounts.configured = []Account{payerAccount}
	for _, r := range s.counts.alarms() {
		if want := map[string]int{"funds": 1, "unclear": 1, "unsignable": 1}[r.Cause]; r.N != want {
			t.Errorf("%s counts %d, want %d", r.Cause, r.N, want)
		}
	}
	funds.Raised = false
	s.alarm(payerAccount, funds)
	if left := s.transactions.alarms(payerAccount.id()); len(left) != 2 {
		t.Errorf("after one has ended got %+v", left)
	}
	s.counts.forget(payerAccount.id())
	if left := s.transactions.alarms(payerAccount.id()); left == nil || len(left) != 0 {
		t.Errorf("after the term got %+v, want none", left)
	}
}

func causeOf(t *testing.T, word string) pending.Cause {
	t.Helper()
	for cause := range meaning {
		if cause.String() == word {
			return cause
		}
	}
	t.Fatalf("%s is no cause", word)
	return 0
}
