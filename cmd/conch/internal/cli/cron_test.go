//go:build unix

package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
)

// What ends a run that does not wait, and a call of a cron, and how: only a leader who is alive is another leader.
func TestWhatEndsThoseWhoDoNotWait(t *testing.T) {
	t.Parallel()
	lost := errors.New("the connection is gone")
	for _, c := range []struct {
		fact election.Fact
		run  int  // the exit code; -1: it goes on
		cron bool // the call ends
	}{
		{election.Fact{Kind: election.Following, Holder: "a"}, anotherLeads, true},
		{election.Fact{Kind: election.Blocked}, unknowable, false},
		{election.Fact{Kind: election.Retrying, Err: lost}, unknowable, false},
		{election.Fact{Kind: election.Barred, Err: lost}, unknowable, false},
		{election.Fact{Kind: election.Acquired}, -1, false},
	} {
		run := &conductor{flags: runFlags{noWait: true, scope: "s"}, endNode: func() {}}
		run.fact(c.fact)
		code, over := -1, run.over.Load()
		if over != nil {
			var f failure
			if !errors.As(*over, &f) {
				t.Fatalf("%s: %v", c.fact.Kind, *over)
			}
			code = f.code
		}
		if code != c.run {
			t.Errorf("%s: a run that does not wait has the exit code %d, want %d", c.fact.Kind, code, c.run)
		}
		for _, again := range []bool{false, true} {
			call := &turn{scope: "s", within: time.Hour, began: time.Now(), call: Call{Again: again}}
			cron := &conductor{flags: runFlags{scope: "s", turn: call}, endNode: func() {}}
			cron.fact(c.fact)
			over := cron.over.Load()
			if want := c.cron && !again; (over != nil) != want || over != nil && *over != nil {
				t.Errorf("%s, with --retry %v: the call ends %v, want %v and silently", c.fact.Kind, again, over != nil, want)
			}
		}
	}
}

// A call whose time is over says what it has waited for. One that waited for another leader has nothing to say, unless the slot may be its own.
func TestTheEndOfACallThatWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		facts  []election.Fact
		unsure bool
		says   string
	}{
		"nothing happens":             {nil, false, "nobody has led it yet"},
		"another one leads":           {[]election.Fact{{Kind: election.Following}}, false, ""},
		"and the slot may be its own": {[]election.Fact{{Kind: election.Retrying, Err: errors.New("gone")}, {Kind: election.Following}}, true, "gone"},
		"then the database is away":   {[]election.Fact{{Kind: election.Following}, {Kind: election.Retrying, Err: errors.New("gone")}}, false, "gone"},
		"acts hold the fence":         {[]election.Fact{{Kind: election.Blocked}}, false, "hold its fence"},
		"a lease is not over":         {[]election.Fact{{Kind: election.Acquired}}, false, "the lease of its last leader"},
	} {
		w := &turn{scope: "s", within: time.Second, call: Call{Again: true}}
		w.unsure.Store(c.unsure)
		for _, f := range c.facts {
			w.fact(f, func(error) { t.Errorf("%s: the call ends", name) })
		}
		err := w.end()
		var f failure
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.As(err, &f) || f.code != unknowable || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "within 1s")):
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
}
