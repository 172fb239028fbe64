package watch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/watch"
)

const interval = 15 * time.Second

// sentry is a node that watches.
type sentry struct {
	t         *testing.T
	m         *watch.Machine
	now       time.Duration
	away      bool // the database is
	evaluated uint64
	claimed   bool   // another node has the claim
	cries     uint64 // it has reported
	answers   core.Answer
	sent      []string
}

var nodes = []string{"node-1", "node-2", "node-3"}

func newSentry(t *testing.T, name string) *sentry {
	t.Helper()
	both := []string{"pager", "chat"}
	s := &sentry{t: t, answers: core.Taken, m: watch.New(watch.Config{
		Cluster: "c", Node: name, Interval: interval, Delay: 30 * time.Second, Idle: 45 * time.Second,
		Rules:     []core.Rule{{Name: core.AwayRule, Notify: both}, {Name: core.IdleRule, Notify: append(both, "am")}},
		Receivers: []core.Receiver{{Name: "pager", Kind: core.Keyed}, {Name: "chat", Kind: core.Text}, {Name: "am", Kind: core.Level}},
	})}
	s.step(watch.Tick{})
	return s
}

func (s *sentry) step(in watch.Input) {
	s.t.Helper()
	out := s.m.Step(watch.Now{Boot: s.now, Wall: time.Unix(1_800_000_000, 0).Add(s.now)}, in)
	for i, m := range out.Sends {
		s.sent = append(s.sent, fmt.Sprintf("%s %s", out.To[i], m.Rule))
		if m.Key != core.Key("c", m.Rule, nil) || m.Status != core.Firing {
			s.t.Errorf("it tells %+v", m)
		}
	}
	if out.Report && s.away {
		s.step(watch.Unreported{})
	} else if out.Report {
		s.cries = out.Cries
		s.step(watch.Reported{Evaluations: s.evaluated, Nodes: nodes})
	}
	if out.Claims {
		if out.Claim != s.evaluated {
			s.t.Errorf("it claims %d, and %d is the last", out.Claim, s.evaluated)
		}
		s.step(watch.Claimed{Mine: !s.claimed})
	}
	for _, to := range out.To {
		if s.answers != 0 {
			s.step(watch.Answered{Receiver: to, Answer: s.answers})
		}
	}
}

// pass lets time pass, in which somebody evaluates or does not.
func (s *sentry) pass(span time.Duration, evaluates bool) {
	s.t.Helper()
	for end := s.now + span; ; {
		due := s.m.Due()
		if due > end {
			s.now = end
			return
		}
		if s.now = max(s.now, due); evaluates {
			s.evaluated++
		}
		s.step(watch.Tick{})
	}
}

func (s *sentry) told(want ...string) {
	s.t.Helper()
	slices.Sort(s.sent)
	slices.Sort(want)
	if !slices.Equal(s.sent, want) {
		s.t.Errorf("at %s told %q, want %q", s.now, s.sent, want)
	}
	s.sent = nil
}

// Each node tells that the database cannot be asked, one after the other; a text the first two. While it lasts, each hour.
func TestTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for i, name := range nodes {
		s := newSentry(t, name)
		s.pass(time.Hour, true)
		s.told()
		s.away = true
		s.pass(24*time.Second, true)
		s.told()
		s.pass(26*time.Second+time.Duration(i)*5*time.Second, true)
		want := []string{"pager " + core.AwayRule, "chat " + core.AwayRule}
		s.told(want[:min(2, 3-i)]...)
		s.pass(59*time.Minute, true)
		s.told()
		s.pass(2*time.Minute, true)
		s.told("pager " + core.AwayRule)
		s.away = false
		s.pass(3*time.Hour, true)
		if s.told(); s.cries != 1 {
			t.Errorf("it reports %d cries", s.cries)
		}
	}
}

// A process that has stood still knows nothing of the database.
func TestAFrozenNode(t *testing.T) {
	t.Parallel()
	s := newSentry(t, "node-1")
	s.pass(time.Minute, true)
	s.answers = 0
	s.now += 10 * time.Minute
	s.away = true
	s.step(watch.Tick{}) // this one may have been on its way for ten minutes
	s.away = false
	s.pass(time.Hour, true)
	s.told()
}

// What a receiver does not take is said again; a text of which nobody knows is not, since another node says it, too.
func TestTellingAgain(t *testing.T) {
	t.Parallel()
	for answer, most := range map[core.Answer][2]int{core.Failed: {9, 9}, core.Doubted: {6, 1}} {
		s := newSentry(t, "node-1")
		s.pass(time.Minute, true)
		s.away, s.answers = true, answer
		s.pass(6*time.Minute, true)
		var of [2]int
		for _, one := range s.sent {
			of[slices.Index([]string{"pager " + core.AwayRule, "chat " + core.AwayRule}, one)]++
		}
		if of[0] < 5 || of[0] > most[0] || of[1] < 1 || of[1] > most[1] {
			t.Errorf("after the answer %d it tells %v times", answer, of)
		}
	}
}

// When the database can be asked again nobody has evaluated for long, and that is no fault.
func TestTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	s := newSentry(t, "node-1")
	s.pass(time.Minute, true)
	s.away = true
	s.pass(10*time.Minute, false)
	s.sent, s.away = nil, false
	s.pass(44*time.Second, false)
	s.told()
}

// One node says that nobody evaluates, until somebody does.
func TestNobodyEvaluates(t *testing.T) {
	t.Parallel()
	s := newSentry(t, "node-1")
	s.pass(time.Hour, true)
	s.told()
	s.claimed = true
	s.pass(10*time.Minute, false)
	s.told()
	s.claimed = false
	s.pass(time.Minute, false)
	s.told("pager "+core.IdleRule, "chat "+core.IdleRule, "am "+core.IdleRule)
	s.pass(3*time.Minute, false)
	s.told("am "+core.IdleRule, "am "+core.IdleRule, "am "+core.IdleRule)
	s.evaluated++
	s.pass(40*time.Second, false)
	s.sent = nil
	s.pass(30*time.Minute, true)
	s.told()
}

// A node that has told that something is wrong, stood still for hours and goes on, does not say so again before it knows whether it is so.
func TestANodeThatStoodStillAsksFirst(t *testing.T) {
	t.Parallel()
	s := newSentry(t, "node-1")
	s.away = true
	s.pass(time.Minute, false)
	s.told("chat "+core.AwayRule, "pager "+core.AwayRule)
	s.now, s.away = s.now+2*time.Hour, false
	s.step(watch.Tick{})
	s.told()

	s = newSentry(t, "node-1")
	s.pass(50*time.Second, false)
	s.told("am "+core.IdleRule, "chat "+core.IdleRule, "pager "+core.IdleRule)
	s.now, s.evaluated = s.now+2*time.Hour, 100
	s.step(watch.Tick{})
	s.told()
}
