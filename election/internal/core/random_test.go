package core_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/runtest"
)

var seed = flag.Uint64("seed", 0, "run this one seed of the random tests")

// seeds returns the seeds that a random test runs: the one of -seed, or n, or 80 times n at night.
func seeds(n uint64) []uint64 {
	if *seed != 0 {
		return []uint64{*seed}
	}
	if runtest.Nightly() {
		n *= 80
	}
	if testing.Short() {
		n /= 6
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all
}

func replay(t *testing.T, seed uint64) {
	t.Helper()
	t.Fatalf("replay: go test ./election/internal/core -race -run '^%s$' -seed %d", t.Name(), seed)
}

// The machine keeps its rules under random inputs in random order.
func TestMachineKeepsItsRules(t *testing.T) {
	for _, n := range seeds(750) {
		if err := fuzzMachine(rand.New(rand.NewPCG(n, 0))); err != nil {
			t.Errorf("seed %d: %v", n, err)
			replay(t, n)
		}
	}
}

// world plays a mint, a loop and roles at random.
type world struct {
	*rand.Rand
	m       *core.Machine
	rules   *rules
	now     fence.Instant
	sent    fence.Instant
	pending core.Action
	closing map[string]bool
	epochs  map[string]int64
	entered map[string]bool
	stopped bool
	done    bool
	lease   time.Duration // of the session
}

func fuzzMachine(r *rand.Rand) error {
	set := newScript(nil).set
	set.Seed = r.Uint64()
	set.Takeover = []mint.Takeover{mint.Strict, mint.Fast, mint.Keep}[r.IntN(3)]
	for i := range 1 + r.IntN(4) {
		lease := time.Duration(1+r.IntN(5)) * time.Second
		margin := lease / 10
		set.Seats = append(set.Seats, core.SeatSettings{
			Scope: string(rune('d' - i)), Lease: lease, Margin: margin, Late: lease - margin - time.Duration(r.IntN(int(lease/2))),
			Rank: r.IntN(3), Never: r.IntN(8) == 0,
		})
		set.Lease = min(set.Lease, lease)
	}
	set.Heartbeat = set.Lease / 5
	w := &world{
		Rand: r, m: core.NewMachine(set), rules: newRules(set), now: base,
		closing: map[string]bool{}, epochs: map[string]int64{}, entered: map[string]bool{}, lease: set.Lease,
	}
	if err := w.step(core.Tick{}); err != nil {
		return err
	}
	for range 200 {
		if err := w.turn(); err != nil {
			return err
		}
	}
	return w.finish(set)
}

// turn lets some time pass and feeds one input.
func (w *world) turn() error {
	next := w.m.Next()
	switch jump := w.IntN(10); {
	case jump < 5 && next > w.now:
		w.now = next
	case jump == 5:
		w.now = w.now.Add(time.Duration(w.Int64N(int64(6 * time.Second)))) // stopped or starved
	default:
		w.now = w.now.Add(time.Duration(w.Int64N(int64(50 * time.Millisecond))))
	}
	if w.IntN(40) == 0 {
		if err := w.still(); err != nil {
			return err
		}
	}
	return w.step(w.something())
}

func (w *world) something() core.Input {
	scope := string(rune('a' + w.IntN(5)))
	switch n := w.IntN(22); {
	case n < 9 && w.pending != nil:
		return w.answer()
	case n < 12:
		for _, s := range slices.Sorted(maps.Keys(w.rules.seats)) {
			if w.closing[s] && w.IntN(2) == 0 {
				return core.Ended{Scope: s}
			}
		}
		return core.Ended{Scope: scope} // of a role that does not run, which the loop never sends
	case n < 14:
		return core.StepDown{Scope: scope, Why: core.ErrStepDown, Timeout: time.Duration(w.IntN(4)) * time.Second}
	case n < 16:
		return core.Woken{Scope: scope, Holder: []string{"", "x"}[w.IntN(2)]}
	case n == 16:
		return core.Woken{Process: int64(w.IntN(4))}
	case n == 17:
		return core.Woken{}
	case n == 19 && !w.stopped:
		return w.told(scope)
	case n == 18 && w.IntN(20) == 0:
		w.stopped = true
		return core.Stop{Timeout: time.Duration(w.IntN(4)) * time.Second}
	}
	return core.Tick{}
}

// told returns an Add, a Retire or a Rest.
func (w *world) told(scope string) core.Input {
	switch w.IntN(4) {
	case 0:
		return core.Retire{Scope: scope}
	case 1:
		return core.Rest{Scope: scope, For: time.Duration(w.IntN(5)) * time.Second}
	}
	lease := time.Duration(1+w.IntN(8)) * time.Second
	margin := lease / 10
	return core.Add{Seat: core.SeatSettings{
		Scope: scope, Lease: max(lease, w.lease), Margin: margin, Late: max(lease, w.lease) - margin, Rank: w.IntN(3), Never: w.IntN(8) == 0,
	}}
}

func (w *world) answer() core.Input {
	if w.IntN(6) == 0 {
		return core.Failed{Lost: w.IntN(2) == 0, Err: errScript}
	}
	switch p := w.pending.(type) {
	case core.Connect:
		return core.Opened{}
	case core.Enlist:
		return core.Enlisted{}
	case core.Try:
		in := core.Tried{Sent: w.sent}
		for _, b := range p.Bids {
			in.Results = append(in.Results, w.result(b))
		}
		return in
	case core.Beat:
		in := core.Beaten{Sent: w.sent}
		for range p.Pulses {
			in.Answers = append(in.Answers, []mint.Outcome{mint.Over, mint.Locked, mint.Renewed}[min(w.IntN(12), 2)])
		}
		return in
	}
	var in core.Parted
	for range w.pending.(core.Release).Farewells {
		in.Answers = append(in.Answers, mint.Parting{Outcome: []mint.Outcome{
			mint.Said, mint.Said, mint.Said, mint.Over, mint.Locked,
		}[w.IntN(5)]})
	}
	return in
}

func (w *world) result(b mint.Bid) mint.Result {
	r := mint.Result{Scope: b.Scope, Outcome: mint.Outcome(w.IntN(5)), Holder: "x", Process: int64(w.IntN(4))}
	if w.IntN(10) == 0 {
		r.Outcome, r.Process = mint.Locked, 0
	}
	if w.IntN(2) == 0 {
		r.Outcome = mint.Won
	}
	if r.Outcome == mint.Won {
		w.epochs[b.Scope]++
		e := w.epochs[b.Scope]
		r.Token = fence.Token{Scope: b.Scope, Epoch: e, Term: fence.Term{0: b.Scope[0], 14: byte(e >> 8), 15: byte(e)}}
		r.Handoff = w.IntN(2) == 0
		if !r.Handoff {
			r.Hold = time.Duration(w.IntN(6)) * time.Second
		}
	}
	return r
}

func (w *world) step(in core.Input) error {
	if e, ok := in.(core.Ended); ok {
		delete(w.closing, e.Scope)
	}
	actions := w.m.Step(w.now, in)
	if err := w.rules.check(w.now, in, actions); err != nil {
		return fmt.Errorf("at %s, %#v: %w", w.now.Sub(base), in, err)
	}
	if answers(in) {
		w.pending = nil
	}
	for _, a := range actions {
		switch a := a.(type) {
		case core.Connect, core.Try, core.Beat, core.Release, core.Enlist:
			w.pending, w.sent = a, w.now
		case core.Shut:
			w.closing[a.Token.Scope] = true
		case core.Done:
			w.done = true
		}
	}
	return nil
}

// still checks that the machine comes to rest without news: it asks for few ticks per second of
// virtual time.
func (w *world) still() error {
	const allowed = 60 // a second
	for range 3 {
		end := w.now.Add(time.Second)
		for n := 0; ; n++ {
			next := w.m.Next()
			if next == 0 || next > end {
				break
			}
			if n > allowed {
				return fmt.Errorf("at %s the machine asks for too many ticks, the next one at %s", w.now.Sub(base), next.Sub(base))
			}
			w.now = max(w.now, next)
			if err := w.step(core.Tick{}); err != nil {
				return err
			}
		}
		w.now = end
	}
	return nil
}

// finish checks that the machine is done soon after a stop, with a mint that answers and roles that
// end, or that time out.
func (w *world) finish(set core.Settings) error {
	if err := w.step(core.Stop{Timeout: time.Second}); err != nil {
		return err
	}
	stuck := w.IntN(2) == 0 // roles that never end are given up
	for range 200 {
		if w.done {
			return nil
		}
		var in core.Input = core.Tick{}
		for _, s := range slices.Sorted(maps.Keys(w.rules.seats)) {
			if w.closing[s] && !stuck {
				in = core.Ended{Scope: s}
			}
		}
		switch next := w.m.Next(); {
		case w.pending != nil:
			in = w.answer()
		case in == core.Tick{} && next > w.now:
			w.now = next
		}
		w.now++
		if err := w.step(in); err != nil {
			return err
		}
	}
	return fmt.Errorf("the machine with %d seats is not done long after the stop", len(set.Seats))
}
