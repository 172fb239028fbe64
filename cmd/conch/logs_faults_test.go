//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog/kv/kvtest"
)

// B18, B20, new-disk-new-member: while clients of five processes put, add, compare and read, one trouble comes after the other: a process is killed,
// cut off or frozen, a store is removed or put back to an older state while the others are there, and the members change. What the clients were told, by
// whichever node and after however many requests, has one order, which an existing checker finds, and in the end all copies are equal. By day the leader
// is killed once; each night has all; CONCH_LOG_FAULTS says for how long, such as 1h.
func TestALogUnderEveryFault(t *testing.T) {
	t.Parallel()
	lasts, err := time.ParseDuration(os.Getenv("CONCH_LOG_FAULTS"))
	if err != nil && runtest.Nightly() {
		lasts = 2 * time.Minute
	}
	s := newSiteWith(t, flags, 3, "n1", "n2", "n3", "n4", "n5")
	s.makes(s.all[0], "n1,n2,n3")
	h := &hurts{machines: s, chance: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 43)), members: []string{"n1", "n2", "n3"}}
	end, done := h.watched()
	troubles := []func(*machine){h.kills, h.cuts, h.freezes, h.wipes, h.restores, h.changes}
	if lasts == 0 {
		troubles = []func(*machine){func(*machine) { h.kills(h.leads("")) }}
	}
	h.c.goesOn(30)
	began := time.Now()
	for round := 0; round == 0 || time.Since(began) < lasts; round++ {
		for _, i := range h.chance.Perm(len(troubles)) { // all of them, in another order each time
			troubles[i](s.all[h.chance.IntN(len(s.all))])
			h.c.goesOn(30)
		}
		t.Logf("%v: %d rounds of troubles", time.Since(began).Round(time.Second), round+1)
	}
	close(end)
	<-done
	s.equal()
	if err := kvtest.Check(h.c.all, time.Minute); err != nil {
		t.Fatalf("of %d operations: %v", len(h.c.all), err)
	}
	t.Logf("%d operations, %d of them asked for more than once", len(h.c.all), h.c.again)
	i := slices.IndexFunc(h.c.all, func(o kvtest.Operation) bool {
		return o.Do.Op == "add" && o.Got.Fault == "" && o.Return != kvtest.Never
	})
	h.c.all[i].Got.Result = `{"value":1000000}`
	if err := kvtest.Check(h.c.all, time.Minute); !errors.Is(err, kvtest.ErrOrder) {
		t.Errorf("a history with a wrong answer: %v", err)
	}
}

// hurts troubles the machines of a log.
type hurts struct {
	*machines
	c       *chronicle
	chance  *rand.Rand
	members []string
}

// watched starts the clients.
func (h *hurts) watched() (end chan<- struct{}, done <-chan struct{}) {
	h.c = newChronicle(h.t, h.machines)
	h.c.turns = true
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		h.c.run(stop, 6)
	}()
	h.t.Cleanup(func() { // also if the test fails before
		select {
		case <-stop:
		default:
			close(stop)
		}
	})
	return stop, over
}

func (h *hurts) rests(least, most time.Duration) {
	_ = pause.For(h.t.Context(), least+time.Duration(h.chance.Int64N(int64(most-least))))
}

// back starts a machine, and waits until it has its part again: nothing is lost while all others are there.
func (h *hurts) back(m *machine) {
	h.t.Helper()
	h.start(m)
	h.c.found(h.machines, slices.Index(h.all, m))
	pgtest.Eventually(h.t, longPatience, m.name+" has its part again", func() bool {
		now := m.logOf()
		return now.State == "running" && now.Position != nil && now.Decides == slices.Contains(h.members, m.name)
	})
	h.reaches(m, h.index(h.but(m)[0]))
}

func (h *hurts) kills(m *machine) {
	h.kill(m)
	h.rests(0, 2*time.Second)
	h.back(m)
}

// cuts silences the ways to some machines: those that others have opened.
func (h *hurts) cuts(*machine) {
	for _, i := range h.chance.Perm(len(h.all))[:1+h.chance.IntN(3)] {
		h.all[i].front.Blackhole(tcpproxy.Both)
	}
	h.rests(time.Second, 6*time.Second)
	for _, m := range h.all {
		m.front.Heal()
	}
}

func (h *hurts) freezes(m *machine) {
	m.life.Signal(syscall.SIGSTOP)
	h.rests(time.Second, 5*time.Second)
	m.life.Signal(syscall.SIGCONT)
}

func (m *machine) storeFile() string { return filepath.Join(m.dir, "data", "logs", "flags.log") }

func (h *hurts) wipes(m *machine) {
	h.kill(m)
	if err := os.Remove(m.storeFile()); err != nil {
		h.t.Fatal(err)
	}
	h.back(m)
}

// restores puts a machine's store back. All others have what it has forgotten.
func (h *hurts) restores(m *machine) {
	h.kill(m)
	backup, err := os.ReadFile(m.storeFile())
	if err != nil {
		h.t.Fatal(err)
	}
	h.back(m)
	h.c.goesOn(20)
	for _, other := range h.but(m) { // else one that is behind may elect it
		h.reaches(other, h.index(m))
	}
	h.kill(m)
	if err := os.WriteFile(m.storeFile(), backup, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.back(m)
	aside, err := filepath.Glob(m.storeFile() + ".aside-*") // a person has read why, and takes them away: a node makes no sixth store beside five of them
	if err != nil {
		h.t.Fatal(err)
	}
	for _, old := range aside {
		if err := os.Remove(old); err != nil {
			h.t.Fatal(err)
		}
	}
}

// index returns where a machine's copy is. After a trouble it may be about to begin.
func (h *hurts) index(m *machine) (at uint64) {
	h.t.Helper()
	pgtest.Eventually(h.t, longPatience, m.name+" has a copy", func() bool {
		p := m.logOf().Position
		if p != nil {
			at = p.Index
		}
		return p != nil
	})
	return at
}

func (h *hurts) reaches(m *machine, index uint64) {
	h.t.Helper()
	pgtest.Eventually(h.t, longPatience, fmt.Sprintf("%s is at %d", m.name, index), func() bool {
		now := m.logOf()
		return now.Position != nil && now.Position.Index >= index
	})
}

// changes makes three or five of them the members. What is refused for a moment is asked for again.
func (h *hurts) changes(m *machine) {
	var names []string
	for _, i := range h.chance.Perm(len(h.all))[:3+2*h.chance.IntN(2)] {
		names = append(names, h.all[i].name)
	}
	pgtest.Eventually(h.t, longPatience, "the members are "+strings.Join(names, ", "), func() bool {
		_, code := logCall(m, "members", "flags", "--set", strings.Join(names, ","))
		return code == 0
	})
	h.members = names
	for _, m := range h.all {
		pgtest.Eventually(h.t, longPatience, m.name+" knows whether it decides", func() bool { return m.logOf().Decides == slices.Contains(names, m.name) })
	}
}
