package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/tables"
)

var begins = time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)

const interval = 15 * time.Second

// desk is a leader with its tables, whose receivers answer when the test says so.
type desk struct {
	t       *testing.T
	tables  *tables.Tables
	cfg     core.Config
	core    *core.Core
	now     time.Duration
	results []core.Result
	fails   bool            // no write is carried out
	sent    []string        // what was, since [desk.told] was asked
	open    map[string]bool // receivers that have not answered
	message core.Message    // that was sent last
	answers core.Answer     // what receivers answer at once; 0: nothing
}

func newDesk(t *testing.T, rules ...core.Rule) *desk {
	t.Helper()
	d := &desk{t: t, tables: tables.New(), now: time.Hour, open: map[string]bool{}, answers: core.Taken, cfg: core.Config{
		Cluster: "c", Node: "node-1", Interval: interval, Hold: interval, Hash: "h", Rules: rules,
		Receivers: []core.Receiver{{Name: "pager", Kind: core.Keyed}, {Name: "chat", Kind: core.Text}, {Name: "am", Kind: core.Level}},
	}}
	d.elect()
	return d
}

// elect makes another leader, which knows the rows alone.
func (d *desk) elect() {
	d.core, d.open = core.New(d.cfg), map[string]bool{}
	d.step(core.Tick{})
}

func (d *desk) wall() time.Time { return begins.Add(d.now) }

// step feeds the core, and does what it asks for at once.
func (d *desk) step(in core.Input) {
	d.t.Helper()
	out := d.core.Step(d.now, in)
	if out.Record != nil {
		if d.fails {
			d.step(core.Lost{})
			return
		}
		d.tables.Record(*out.Record, d.wall())
	}
	for i, m := range out.Sends {
		to := out.To[i]
		if d.open[to] {
			d.t.Errorf("%s is told two things at once", to)
		}
		word := map[core.Status]string{core.Firing: "fires", core.Resolved: "over", core.Passed: "passed"}[m.Status]
		d.sent = append(d.sent, fmt.Sprintf("%s %s %s", to, m.Rule, word))
		d.open[to], d.message = true, m
	}
	if out.Load {
		d.step(d.tables.Load(d.wall()))
	}
	if !out.Evaluate.IsZero() {
		d.step(core.Evaluated{At: out.Evaluate, Results: slices.Clone(d.results), Looked: d.tables.Look(d.wall())})
	}
	if d.answers != 0 {
		for _, to := range out.To {
			d.answer(to, d.answers)
		}
	}
}

func (d *desk) answer(to string, a core.Answer) {
	d.t.Helper()
	if d.open[to] {
		d.open[to] = false
		d.step(core.Answered{Receiver: to, Answer: a})
	}
}

// pass lets time pass.
func (d *desk) pass(span time.Duration) {
	d.t.Helper()
	end := d.now + span
	for range 100_000 {
		due, is := d.core.Due()
		if !is || due > end {
			d.now = end
			return
		}
		d.now = max(d.now, due)
		d.step(core.Tick{})
	}
	d.t.Fatal("the core wants the time again and again")
}

// is has the condition of a rule be true for some hosts.
func (d *desk) is(rule string, hosts ...string) {
	d.results = slices.DeleteFunc(d.results, func(r core.Result) bool { return r.Rule == rule })
	r := core.Result{Rule: rule}
	for _, h := range hosts {
		r.Members = append(r.Members, core.Member{Labels: map[string]string{"host": h}, Value: 1})
	}
	d.results = append(d.results, r)
}

// told compares what was sent with what was to be.
func (d *desk) told(want ...string) {
	d.t.Helper()
	slices.Sort(d.sent)
	slices.Sort(want)
	if !slices.Equal(d.sent, want) {
		d.t.Errorf("at %s told\n\t%s\nwant\n\t%s", d.now, strings.Join(d.sent, "\n\t"), strings.Join(want, "\n\t"))
	}
	d.sent = nil
}

func rule(name string, to ...string) core.Rule {
	return core.Rule{Name: name, Notify: to}
}
