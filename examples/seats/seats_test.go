package seats_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/examples/seats"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/txlogtest"
)

// The machine keeps what a log rests on (B14, B15, V3, V4, V5, V7).
func TestSeatsAreAStateMachine(t *testing.T) {
	t.Parallel()
	txlogtest.ExerciseState(
		t, seats.New,
		`{"do":"open","event":"talk","seats":2}`, `{"do":"open","event":"talk","seats":3}`, `{"do":"open","event":"tal","seats":1}`,
		`{"do":"reserve","event":"talk","name":"ann","mail":"ann@x"}`, `{"do":"reserve","event":"talk","name":"<é>","mail":"e@x"}`,
		`{"do":"reserve","event":"talk","name":"cid","mail":"cid@x"}`, `{"do":"release","event":"talk","name":"ann"}`,
		`{"do":"release","event":"talk","name":"ann"}`, `{"do":"reserve","event":"talk","name":"ann","mail":"ann@x"}`,
	)
}

// A query goes over all that is there, and spends for it.
func TestSeatsAreAskedWithinABudget(t *testing.T) {
	t.Parallel()
	goals := []string{`{"do":"open","event":"talk","seats":2000}`}
	for i := range 2000 {
		goals = append(goals, fmt.Sprintf(`{"do":"reserve","event":"talk","name":"n%d","mail":"n@x"}`, i))
	}
	txlogtest.ExerciseQueries(t, seats.New, goals, `{"event":"talk"}`)
	s := seats.New()
	for _, g := range goals {
		if err := s.Apply(txlog.Run(s, []byte(g)).Diff); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := txlog.AskWithin(s.View(), []byte(`{"event":"talk"}`), 2000); !errors.Is(err, txlog.ErrBudget) {
		t.Errorf("the query takes fewer steps than there are names: %v", err)
	}
}

// What goals do, and what is said of those that fail.
func TestSeats(t *testing.T) {
	t.Parallel()
	s := seats.New()
	for _, c := range []struct{ goal, fails string }{
		{`{"do":"open","event":"talk","seats":2}`, ""},
		{`{"do":"open","event":"talk","seats":2}`, "an event is opened once"},
		{`{"do":"open","event":"walk","seats":0}`, "with 1 to"},
		{`{"do":"open","event":"a/b","seats":1}`, "a goal is"},
		{`{"do":"reserve","event":"talk","name":"ann","mail":"ann@x"}`, ""},
		{`{"do":"reserve","event":"talk","name":"ann","mail":"ann@x"}`, "ann has a seat already"},
		{`{"do":"reserve","event":"walk","name":"ann","mail":"ann@x"}`, "there is no event walk"},
		{`{"do":"reserve","event":"talk","name":"bob"}`, `"mail" is missing`},
		{`{"do":"reserve","event":"talk","name":"bob","mail":"bob@x"}`, ""},
		{`{"do":"reserve","event":"talk","name":"cid","mail":"cid@x"}`, "all 2 seats are taken"},
		{`{"do":"release","event":"talk","name":"cid"}`, "cid has no seat"},
		{`{"do":"release","event":"talk","name":"ann"}`, ""},
		{`{"do":"reserve","event":"talk","name":"cid","mail":"cid@x"}`, ""},
		{`{"do":"dance","event":"talk","name":"cid"}`, "nothing is called dance"},
		{`{"do":"open","event":"talk","seats":2} {}`, "a goal is"},
		{`{"do":"open","event":"talk","chairs":2}`, "a goal is"},
	} {
		o := txlog.Run(s, []byte(c.goal))
		if (c.fails == "") != (o.Fault == "") || !strings.Contains(o.Fault, c.fails) {
			t.Errorf("%s: %q", c.goal, o.Fault)
		}
		mails := strings.Contains(c.goal, "reserve") && o.Fault == ""
		if (len(o.Effects) == 1) != mails || mails && !strings.Contains(string(o.Effects[0].Body), "You have a seat: talk") {
			t.Errorf("%s: %v", c.goal, o.Effects)
		}
		if err := s.Apply(o.Diff); err != nil {
			t.Fatalf("%s: %v", c.goal, err)
		}
	}
	if answer, err := txlog.Ask(s.View(), []byte(`{"event":"talk"}`)); err != nil || string(answer) != `{"seats":2,"taken":["bob","cid"]}` {
		t.Errorf("the seats are %s, %v", answer, err)
	}
	for _, bad := range []string{`{"event":"walk"}`, `{"event":7}`, ``, `{"event":"talk/bob"}`} {
		if answer, err := txlog.Ask(s.View(), []byte(bad)); err == nil {
			t.Errorf("%s answers %s", bad, answer)
		}
	}
}

// In a log a mail waits until it is performed, under one key on every node, and no seat is given twice whatever is sent again.
func TestSeatsInALog(t *testing.T) {
	t.Parallel()
	g := txlog.Genesis{Namespace: "house", Machine: seats.Machine, Members: []txlog.Member{{Name: "a", Store: 1}}}.With()
	leader, follower := txlog.NewCopy(g, seats.New), txlog.NewCopy(g, seats.New)
	take := func(e txlog.Entry) {
		t.Helper()
		e.Term, e.Leader = 1, "a"
		r, err := leader.Next(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := follower.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	for i, text := range []string{
		`{"do":"open","event":"talk","seats":1}`, `{"do":"reserve","event":"talk","name":"ann","mail":"ann@x"}`, `{"do":"reserve","event":"talk","name":"bob","mail":"bob@x"}`,
	} {
		o := leader.Execute([]byte(text))
		take(txlog.Entry{
			Kind: txlog.Executed, GoalID: fmt.Sprint(i), Goal: []byte(text), Result: o.Result, Fault: o.Fault, Diff: o.Diff, Effects: o.Effects,
		})
	}
	if known, found, err := leader.Admit("1", []byte(`{"do":"reserve","event":"talk","name":"ann","mail":"ann@x"}`), 0); err != nil || !found || known.Fault != "" {
		t.Errorf("sent again it is %+v, %v", known, err)
	}
	waiting := follower.Effects()
	if len(waiting) != 1 || waiting[0].Key != (txlog.Key{Index: 2}) || waiting[0].Kind != "mail" {
		t.Fatalf("what waits is %+v", waiting)
	}
	take(txlog.Entry{Kind: txlog.Performed, Upto: waiting[0].Key})
	if len(follower.Effects()) != 0 || follower.Hash() != leader.Hash() {
		t.Error("the mail still waits")
	}
}
