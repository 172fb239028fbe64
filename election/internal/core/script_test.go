package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/storytest"
)

// script feeds a machine the inputs of a text and shows its actions. A line at the margin is one
// input; the indented lines below it are the actions, written by the test (-update):
//
//	# a comment
//	0s     tick
//	    connect
//	5ms    opened
//	    try s
//	6ms    tried s=won epoch=1
//	    open s#1 act from 6ms until 2.705s
//	next   tick
//	    …
//
// A time is a duration since the start of the story, or with "+" since the last input, or "next",
// the instant that the machine asked for. The first lines may change the settings and seats:
//
//	settings takeover=fast heartbeat=1s seed=9
//	seat s lease=3s margin=300ms late=2.7s rank=1 never
//
// "run TIME SCOPE=OUTCOME" lets time pass until TIME. Every request succeeds after a millisecond, a
// bid with that OUTCOME (default won). A busy bid takes its Block, and heartbeats take the time of
// beats=TIME. Heartbeats and what they move are not shown.
type script struct {
	t       *testing.T
	set     core.Settings
	m       *core.Machine
	rules   *rules
	now     fence.Instant
	sent    fence.Instant // when the request under way was made
	pulses  []mint.Pulse  // of the heartbeat under way
	bids    []mint.Bid    // of the try under way
	tokens  map[string]fence.Token
	pending core.Action // the request under way
	out     []string
}

// base is when a story begins, well after the clock's origin, since the instant 0 means none.
const base = fence.Instant(time.Hour)

func newScript(t *testing.T) *script {
	return &script{t: t, now: base, tokens: map[string]fence.Token{}, set: core.Settings{
		Takeover: mint.Strict, Lease: 3 * time.Second, Heartbeat: 600 * time.Millisecond,
		CheckInterval: time.Second, BackoffMin: 200 * time.Millisecond, BackoffMax: 800 * time.Millisecond,
		RetryMax: 3 * time.Second, RankDelay: 5 * time.Millisecond, YieldAfterStep: 3 * time.Second, Seed: 1,
	}}
}

// play returns the text with the machine's actions under each input.
func (s *script) play(text string) string { return storytest.Play(text, s.turn) }

// turn plays one line and returns what to show below it.
func (s *script) turn(line string) []string {
	s.out = nil
	s.line(line)
	return s.out
}

func (s *script) line(line string) {
	words := strings.Fields(line)
	switch words[0] {
	case "settings":
		s.settings(args(words[1:]))
		return
	case "seat":
		s.seat(words[1], args(words[2:]))
		return
	case "run":
		s.start()
		s.run(base.Add(s.duration(words[1])), args(words[2:]))
		return
	}
	s.start()
	s.until(words[0])
	s.step(s.input(words[1], words[2:]))
}

func (s *script) start() {
	if s.m == nil {
		if len(s.set.Seats) == 0 {
			s.seat("s", nil)
		}
		s.m = core.NewMachine(s.set)
		s.rules = newRules(s.set)
	}
}

func (s *script) settings(a map[string]string) {
	for k, v := range a {
		switch k {
		case "takeover":
			s.set.Takeover = mint.Takeover(v)
		case "lease":
			s.set.Lease = s.duration(v)
		case "heartbeat":
			s.set.Heartbeat = s.duration(v)
		case "lock_timeout":
			s.set.LockTimeout = s.duration(v)
		case "stale_after":
			s.set.StaleAfter = s.duration(v)
		case "linger":
			s.set.Linger = s.duration(v)
		case "seed":
			_, _ = fmt.Sscan(v, &s.set.Seed)
		default:
			s.t.Fatalf("settings: %q", k)
		}
	}
}

func (s *script) seat(scope string, a map[string]string) {
	s.set.Seats = append(s.set.Seats, s.seatOf(scope, a))
}

func (s *script) seatOf(scope string, a map[string]string) core.SeatSettings {
	seat := core.SeatSettings{Scope: scope, Lease: 3 * time.Second, Margin: 300 * time.Millisecond, Late: 2700 * time.Millisecond}
	if v := a["lease"]; v != "" { // first, since other defaults follow from it
		seat.Lease = s.duration(v)
		seat.Margin = seat.Lease / 10
		seat.Late = seat.Lease - seat.Margin
	}
	for k, v := range a {
		switch k {
		case "lease":
		case "late":
			seat.Late = s.duration(v)
		case "rank":
			_, _ = fmt.Sscan(v, &seat.Rank)
		case "never":
			seat.Never = true
		default:
			s.t.Fatalf("seat: %q", k)
		}
	}
	return seat
}

func (s *script) until(when string) {
	switch {
	case when == "next":
		next := s.m.Next()
		if next == 0 {
			s.t.Fatal("the machine asks for no tick, so there is no next")
		}
		s.now = max(s.now, next)
		s.out = append(s.out, "at "+s.at(s.now))
	case strings.HasPrefix(when, "+"):
		s.now = s.now.Add(s.duration(when[1:]))
	default:
		at := base.Add(s.duration(when))
		if at < s.now {
			s.t.Fatalf("%s is in the past, the time is %s", when, s.at(s.now))
		}
		s.now = at
	}
}

// step feeds the machine, checks the rules and shows the actions.
func (s *script) step(in core.Input) {
	s.shows(s.advance(in))
	if next := s.m.Next(); next == 0 {
		s.out = append(s.out, "(no next)")
	} else {
		s.out = append(s.out, "(next "+s.at(next)+")")
	}
}

func (s *script) advance(in core.Input) []core.Action {
	if answers(in) && !matches(s.pending, in) {
		s.t.Fatalf("at %s: %T cannot answer %T", s.at(s.now), in, s.pending)
	}
	actions := s.m.Step(s.now, in)
	if err := s.rules.check(s.now, in, actions); err != nil {
		s.t.Errorf("at %s, %T: %v", s.at(s.now), in, err)
	}
	if answers(in) {
		s.pending = nil
	}
	for _, a := range actions {
		switch a := a.(type) {
		case core.Try:
			s.bids, s.sent, s.pending = a.Bids, s.now, a
		case core.Beat:
			s.pulses, s.sent, s.pending = a.Pulses, s.now, a
		case core.Connect, core.Release, core.Enlist:
			s.pending = a
		case core.Open:
			s.tokens[a.Token.Scope] = a.Token
		}
	}
	return actions
}

// matches reports whether the input can answer the request.
func matches(request core.Action, in core.Input) bool {
	if _, failed := in.(core.Failed); failed {
		return request != nil
	}
	ok := false
	switch request.(type) {
	case core.Connect:
		_, ok = in.(core.Opened)
	case core.Try:
		_, ok = in.(core.Tried)
	case core.Beat:
		_, ok = in.(core.Beaten)
	case core.Release:
		_, ok = in.(core.Parted)
	case core.Enlist:
		_, ok = in.(core.Enlisted)
	}
	return ok
}

// run lets time pass until end, with a mint whose answers succeed.
func (s *script) run(end fence.Instant, with map[string]string) {
	for {
		var in core.Input = core.Tick{}
		at := s.m.Next()
		if s.pending != nil {
			at, in = s.now.Add(s.takes(with)), s.answer(with)
		}
		if at == 0 || at > end {
			s.now = max(s.now, end)
			return
		}
		s.now = max(s.now, at)
		for _, a := range s.advance(in) {
			switch a.(type) {
			case core.Beat, core.Extend, core.Prolong:
			default:
				s.out = append(s.out, s.at(s.now)+" "+s.show(a))
			}
		}
	}
}

// takes returns how long the mint takes to answer; a bid for a busy scope waits.
func (s *script) takes(with map[string]string) time.Duration {
	if _, ok := s.pending.(core.Beat); ok && with["beats"] != "" {
		return s.duration(with["beats"])
	}
	if try, ok := s.pending.(core.Try); ok && len(try.Bids) == 1 && with[try.Bids[0].Scope] == "busy" {
		return max(try.Bids[0].Block, time.Millisecond)
	}
	return time.Millisecond
}

func (s *script) answer(with map[string]string) core.Input {
	switch p := s.pending.(type) {
	case core.Connect:
		return core.Opened{}
	case core.Beat:
		return s.beaten(with)
	case core.Release:
		return s.parted(nil)
	case core.Enlist:
		return core.Enlisted{}
	case core.Try:
		var words []string
		for _, b := range p.Bids {
			words = append(words, b.Scope+"="+with[b.Scope])
		}
		return s.tried(words)
	}
	s.t.Fatal("there is no request to answer")
	return nil
}

func (s *script) duration(v string) time.Duration {
	d, err := time.ParseDuration(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) at(i fence.Instant) string {
	d := i.Sub(base).Round(10 * time.Microsecond)
	if i < 0 {
		return "never"
	}
	return d.String()
}

func args(words []string) map[string]string {
	a := map[string]string{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		a[k] = v
	}
	return a
}

var errScript = errors.New("scripted")
