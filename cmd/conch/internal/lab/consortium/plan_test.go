//go:build unix

package consortium

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

// A plan follows from its seed. Whatever its seed is, each kind comes once before any comes twice, and first what lasts
// while others come: a short run shows all of it then.
func TestPlans(t *testing.T) {
	t.Parallel()
	kinds := Kinds()
	for seed := range uint64(50) {
		plan := Plan(seed, 60)
		if !reflect.DeepEqual(plan, Plan(seed, 60)) || len(plan) != 60 {
			t.Fatalf("seed %d has two plans", seed)
		}
		var first []Kind
		for _, f := range plan[:len(kinds)] {
			first = append(first, f.Kind)
		}
		begin := slices.Sorted(slices.Values(first[:3]))
		if !slices.Equal(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(kinds))) || !slices.Equal(begin, []Kind{Certificate, OldHead, Restore}) {
			t.Errorf("seed %d begins with %v, want each kind once, and what lasts first", seed, first)
		}
		for _, f := range plan {
			if f.After < shortestBreak || f.After > longestBreak || Describe(f.Kind) == "" {
				t.Errorf("seed %d has the fault %+v", seed, f)
			}
		}
	}
	if reflect.DeepEqual(Plan(1, 60), Plan(2, 60)) || Describe("none") != "" {
		t.Error("two seeds have one plan, or a kind that is none is described")
	}
}

func TestTheDemosFaultsTakeTurns(t *testing.T) {
	t.Parallel()
	var got []Fault
	for n := range 4 {
		got = append(got, demoFault(n, time.Second))
	}
	want := []Fault{
		{Kind: Kill, After: time.Second}, {Kind: Partition, After: time.Second}, {Kind: Pause, After: time.Second},
		{Kind: Kill, Other: true, Long: true, After: time.Second},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAChaosThatCannotBe(t *testing.T) {
	t.Parallel()
	good := Config{Chaos: &Chaos{Seed: 7, Faults: 3, Intents: 20}, Duration: time.Minute}
	if err := good.Validate(); err != nil || good.Replay() != "conch-lab chaos --sequencer --faults 3 --seed 7 --intents 20 --duration 1m0s" {
		t.Errorf("got %v, and it is repeated by %s", err, good.Replay())
	}
	if short := (Config{Chaos: &Chaos{Faults: 1}}); short.Validate() != nil || short.Replay() != "conch-lab chaos --sequencer --faults 1 --seed 0" {
		t.Errorf("got %v, and it is repeated by %s", short.Validate(), short.Replay())
	}
	err := Config{Chaos: &Chaos{Intents: -1}, Duration: -1}.Validate()
	for _, part := range []string{"--faults 0", "--intents -1", "--duration"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want all faults, %s among them", err, part)
		}
	}
}

// A plan is over when its last fault is, what it did is undone, and enough was asked for.
func TestTheEndOfAPlan(t *testing.T) {
	t.Parallel()
	s := ran("west")
	s.cfg = Config{Chaos: &Chaos{Faults: 2, Intents: 1}}
	s.plan, s.begun, s.counted = Plan(1, 2), time.Now(), map[string]int{}
	s.draw(s.begun)
	if s.next != s.plan[0] || !s.faultAt.Equal(s.begun.Add(s.plan[0].After)) {
		t.Errorf("the next fault is %+v at %v, want the first of the plan", s.next, s.faultAt)
	}
	s.faults = 2
	if s.draw(s.begun); !s.faultAt.IsZero() {
		t.Errorf("after its last fault there is one at %v", s.faultAt)
	}
	s.customers[0].requests = make([]auditor.Request, 1)
	for name, c := range map[string]struct {
		spoil func()
		want  bool
	}{
		"a fault is to come": {func() { s.faultAt = time.Now() }, false},
		"a partition":        {func() { s.healAt = time.Now() }, false},
		"a pause":            {func() { s.asleep = new(organisation) }, false},
		"a saved database":   {func() { s.saved = &saving{} }, false},
		"a turned clock":     {func() { s.rightAt = time.Now() }, false},
		"an old head":        {func() { s.oldHead = 7 }, false},
		"no certificate":     {func() { s.expired = new(ending) }, false},
		"too few requests":   {func() { s.cfg.Chaos = &Chaos{Intents: 2} }, false},
		"nothing":            {func() {}, true},
		"its time is over":   {func() { s.faultAt, s.cfg.Duration = time.Now(), time.Nanosecond }, true},
	} {
		before := s.cfg
		s.cfg.Chaos = &Chaos{}
		s.faultAt, s.healAt, s.asleep, s.saved, s.rightAt, s.oldHead, s.expired = time.Time{}, time.Time{}, nil, nil, time.Time{}, 0, nil
		c.spoil()
		if got := s.enough(time.Now().Add(time.Second)); got != c.want {
			t.Errorf("%s: it is over: %t, want %t", name, got, c.want)
		}
		s.cfg = before
	}
}

// A chaos in which nothing happens any more ends, and says so: its faults find nobody, or no request ends.
func TestAChaosThatStandsStillEnds(t *testing.T) {
	t.Parallel()
	s := ran("west")
	s.cfg = Config{Chaos: &Chaos{Faults: 2, Intents: 9}}
	begun := time.Now()
	s.plan, s.begun, s.faultAt = Plan(1, 2), begun, begun // due, and nobody is there for it
	if s.enough(begun) || s.enough(begun.Add(settleMost-time.Second)) {
		t.Error("it ends while something may still happen")
	}
	s.customers[0].requests = make([]auditor.Request, 1)
	if s.enough(begun.Add(settleMost)) || s.stuck != "" {
		t.Errorf("it ends though something has happened: %q", s.stuck)
	}
	if want := "nothing has happened for 3m0s, after 0 of 2 faults and 1 of at least 9 requests"; !s.enough(begun.Add(2*settleMost)) || s.stuck != want {
		t.Errorf("it goes on, or ends with %q, want %q", s.stuck, want)
	}
}
