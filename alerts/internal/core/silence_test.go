package core_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
)

func (d *desk) silence(id string, lasts time.Duration, m ...core.Matcher) {
	d.tables.Silence(core.Silence{ID: id, Matchers: m, Since: d.wall(), Until: d.wall().Add(lasts)})
	d.step(core.Looks{})
}

// What is silenced fires and is not told; the end of the silence tells it at once, and names it.
func TestASilenceEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager", "chat"))
	d.silence("s", 10*time.Minute, core.Matcher{Label: "alertname", Op: "=", Value: "disk"})
	d.is("disk", "a")
	d.pass(9 * time.Minute)
	d.told()
	if m := d.tables.Load(d.wall()).Members; len(m) != 1 || m[0].Fires.IsZero() || m[0].Muted != "s" {
		t.Errorf("the member is %+v", m)
	}
	d.elect()
	d.pass(time.Minute + interval)
	d.told("pager disk fires", "chat disk fires")
	if d.message.Silence != "s" {
		t.Errorf("it names the silence %q", d.message.Silence)
	}
}

// A silence of what is told already: its end is told to whom the fire was, and that it still fires when the silence is over.
func TestASilenceOfWhatIsTold(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"it ends": true, "it goes on": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, rule("disk", "pager", "chat"))
			d.is("disk", "a")
			d.pass(interval)
			d.told("pager disk fires", "chat disk fires")
			d.silence("s", time.Hour, core.Matcher{Label: "host", Op: "=~", Value: "a|b"})
			d.pass(10 * time.Minute)
			d.told()
			if ends {
				d.is("disk")
				d.pass(interval)
				d.told("pager disk over", "chat disk over")
				return
			}
			d.tables.Unsilence("s", d.wall())
			d.step(core.Looks{})
			d.told("pager disk fires", "chat disk fires")
		})
	}
}

// What begins and ends in a silence is told to nobody.
func TestAllWithinASilence(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager", "chat"))
	d.silence("s", time.Hour, core.Matcher{Label: "alertname", Op: "=", Value: "disk"})
	d.is("disk", "a")
	d.pass(10 * time.Minute)
	d.is("disk")
	d.pass(2 * time.Hour)
	d.told()
}

// A silence of some members leaves the others; once those are over that were told, so is the incident.
func TestASilenceOfSome(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "chat"))
	d.silence("s", time.Hour, core.Matcher{Label: "host", Op: "!=", Value: "a"})
	d.is("disk", "a", "b", "c")
	d.pass(10 * time.Minute)
	d.told("chat disk fires")
	if len(d.message.Members) != 1 || d.message.Members[0].Labels["host"] != "a" {
		t.Errorf("it names %+v", d.message.Members)
	}
	d.is("disk", "b")
	d.pass(10 * time.Minute)
	d.told("chat disk over")
	d.pass(time.Hour)
	d.told("chat disk fires")
}

// A matcher compares labels, the rule and its severity; a pattern has to match all of the value.
func TestMatchers(t *testing.T) {
	t.Parallel()
	for m, want := range map[core.Matcher]bool{
		{Label: "host", Op: "=", Value: "abc"}:              true,
		{Label: "host", Op: "=", Value: "ab"}:               false,
		{Label: "host", Op: "!=", Value: "ab"}:              true,
		{Label: "host", Op: "=~", Value: "ab"}:              false,
		{Label: "host", Op: "=~", Value: "ab|a.c"}:          true,
		{Label: "host", Op: "!~", Value: "x.*"}:             true,
		{Label: "none", Op: "=", Value: ""}:                 true,
		{Label: "alertname", Op: "=~", Value: "di.*"}:       true,
		{Label: "severity", Op: "=", Value: "page"}:         true,
		{Label: "host", Op: "=~", Value: "("}:               false,
		{Label: "host", Op: "~", Value: "abc"}:              false,
		{Label: "host", Op: "=~", Value: "a.c) or (b"}:      false,
		{Label: "severity", Op: "!~", Value: "page|ticket"}: false,
	} {
		r := rule("disk", "chat")
		r.Severity = "page"
		d := newDesk(t, r)
		d.silence("s", time.Hour, m)
		d.is("disk", "abc")
		d.pass(time.Minute)
		if silenced := len(d.sent) == 0; silenced != want {
			t.Errorf("%+v silences: %v", m, silenced)
		}
	}
}
