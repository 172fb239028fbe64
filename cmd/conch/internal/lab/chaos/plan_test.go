package chaos

import (
	"reflect"
	"testing"
)

func TestAPlanIsItsSeeds(t *testing.T) {
	t.Parallel()
	if a, b := Plan(7, 200, Kinds()), Plan(7, 200, Kinds()); !reflect.DeepEqual(a, b) {
		t.Error("one seed gave two plans")
	}
	if a, b := Plan(7, 200, Kinds()), Plan(8, 200, Kinds()); reflect.DeepEqual(a, b) {
		t.Error("two seeds gave one plan")
	}
	if got := Plan(7, 5, nil); got != nil {
		t.Errorf("a plan of no kinds: got %v, want nil", got)
	}
	if longer := Plan(7, 300, Kinds()); !reflect.DeepEqual(longer[:200], Plan(7, 200, Kinds())) {
		t.Error("a longer plan begins with other faults than a shorter one of the same seed")
	}
}

func TestEveryPlanKeepsTheRules(t *testing.T) {
	t.Parallel()
	targets := map[Target]int{}
	joined, faults := 0, 0
	for seed := range uint64(200) {
		plan := Plan(seed, 60, Kinds())
		if len(plan) != 60 {
			t.Fatalf("seed %d: got %d faults, want 60", seed, len(plan))
		}
		seen := map[Kind]bool{}
		for i, f := range plan {
			trait, known := traitOf(f.Kind)
			if !known || f.Leases < trait.least || f.Leases > trait.most {
				t.Fatalf("seed %d: %+v does not fit its kind", seed, f)
			}
			seen[f.Kind] = true
			if f.Joined && (i == 0 || plan[i-1].Joined || !agree(plan[i-1].Kind, f.Kind)) {
				t.Fatalf("seed %d: %v cannot join the fault before it", seed, f)
			}
			if hits := trait.place == machine || trait.place == line; !hits && f.Target != Everybody {
				t.Fatalf("seed %d: %v must not have a target", seed, f)
			}
			if ends := f.Kind == Backend || f.Kind == Deaf; ends && f.Target != Leaders && f.Target != Everybody || !ends && f.Target == Leaders {
				t.Fatalf("seed %d: %v has the wrong target: only leaders have a session to be ended", seed, f)
			}
			faults++
			targets[f.Target]++
			if f.Joined {
				joined++
			}
		}
		for _, k := range Kinds() {
			if !seen[k] {
				t.Errorf("seed %d leaves %s out", seed, k)
			}
		}
	}
	if share := float64(joined) / float64(faults); share < 0.05 || share > 0.3 {
		t.Errorf("%.2f of all faults are joined, want 0.05 to 0.3", share)
	}
	if targets[Leader] < targets[Follower] || targets[Follower] == 0 || targets[Supervisor] == 0 {
		t.Errorf("got targets %v, want leaders mostly and followers sometimes", targets)
	}
}

func TestAPlanOfOneKind(t *testing.T) {
	t.Parallel()
	for _, f := range Plan(1, 10, []Kind{Kill9}) {
		if f.Kind != Kill9 || f.Joined || f.Target == Everybody {
			t.Errorf("got %+v, want a single kill9 with a target", f)
		}
	}
}

func TestFaultsThatAgree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second Kind
		may           bool
	}{
		{Silent, Backend, true}, // the leader that cannot hear that it was deposed
		{StopLong, PGKill, true},
		{StopLong, Kill9, true},
		{PGKill, Silent, true},
		{Silent, Silent, false},
		{Silent, Latency, false},     // one proxy
		{StopShort, StopLong, false}, // one SIGCONT wakes both
		{StopLong, StopShort, false},
		{PGKill, ClockBack, false}, // one database
		{PGKill, Backend, false},   // no backends
		{PGKill, Deaf, false},
		{StopShort, Deaf, true},
		{Silent, Deaf, false},
		{Backend, Silent, false},    // over at once
		{StopLong, Rolling, false},  // a stopped process cannot end in order
		{TableLock, Kill9, false},   // its hog must be ended first
		{LocksFull, Kill9, false},   // its hog must be ended first
		{FrozenFence, Kill9, false}, // kills by itself
		{FenceStream, Kill9, false},
	} {
		if got := agree(c.first, c.second); got != c.may {
			t.Errorf("%s, meanwhile %s: got %v, want %v", c.first, c.second, got, c.may)
		}
	}
}
