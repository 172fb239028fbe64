//go:build unix

package main_test

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// stormFault is one fault as it was done.
type stormFault struct {
	Name   string    `json:"name"`
	Victim string    `json:"victim"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"` // its last second
}

// stormKind is a kind of fault. It returns when the fault is over, and whom it has hit.
type stormKind struct {
	name string
	does func(s *storm) (victim int)
}

const (
	stormBegins = 10 * time.Second // after the first payment
	stormFirst  = 60 * time.Second // of the plan for the first fault, which is several
	stormEach   = 40 * time.Second // for each other one, with the calm after it
	stormAway   = time.Second      // from the death of a node until it is started again
	stormCut    = 8 * time.Second
	stormFrozen = 8 * time.Second
	stormNoDB   = 6 * time.Second
	stormOld    = 6 * time.Second // from the copy of a database until it is put back
)

// stormTwice kills the coordinator, and the node that coordinates some seconds later.
func stormTwice(s *storm) int {
	s.crash(s.coordinator())
	s.until(time.Now().Add(4 * time.Second))
	return s.crash(s.coordinator())
}

// stormKinds are all kinds. The first is a storm that was seen to end in nothing but skipped entries for minutes.
var stormKinds = []stormKind{
	{"storm", func(s *storm) int {
		stormTwice(s)
		s.apart()
		return s.outage(s.coordinator())
	}},
	{"coordinator killed twice", stormTwice},
	{"another killed", func(s *storm) int { return s.crash(s.another()) }},
	{"cut", (*storm).apart},
	{"coordinator frozen", func(s *storm) int { return s.freeze(s.coordinator()) }},
	{"another frozen", func(s *storm) int { return s.freeze(s.another()) }},
	{"database silent", func(s *storm) int { return s.outage(s.coordinator()) }},
	{"database restarted", func(s *storm) int { return s.restart(s.another()) }},
	{"database restored", (*storm).restore},
}

// stormPlan is the order of the faults: the storm first, then each other kind, and again what there is time for. A database is
// restored once. What is too short for the storm is calm. Equal arguments give equal plans.
func stormPlan(seed uint64, lasts time.Duration) (plan []stormKind) {
	if lasts < stormBegins+stormFirst {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 47))
	plan = stormKinds[:1:1]
	for left := lasts - stormBegins - stormFirst; left >= stormEach; {
		rest := stormKinds[1:]
		if len(plan) > 1 {
			rest = stormKinds[1 : len(stormKinds)-1]
		}
		for _, k := range r.Perm(len(rest)) {
			if left -= stormEach; left >= 0 {
				plan = append(plan, rest[k])
			}
		}
	}
	return plan
}

// crash kills a node, and starts it again.
func (s *storm) crash(i int) int {
	s.kill(i)
	s.until(time.Now().Add(stormAway))
	s.all[i].start()
	return i
}

// apart cuts the coordinator and another one off from the other three.
func (s *storm) apart() int {
	i := s.coordinator()
	s.cut(i, (i+1+s.rand.IntN(len(s.all)-1))%len(s.all))
	s.until(time.Now().Add(stormCut))
	s.heal()
	return i
}

func (s *storm) freeze(i int) int {
	s.all[i].life.Signal(syscall.SIGSTOP)
	s.until(time.Now().Add(stormFrozen))
	s.all[i].life.Signal(syscall.SIGCONT)
	return i
}

// outage has a database fall silent: what was asked of it is done later.
func (s *storm) outage(i int) int {
	s.wires[i].Blackhole(tcpproxy.Both)
	s.until(time.Now().Add(stormNoDB))
	s.wires[i].Heal()
	return i
}

func (s *storm) restart(i int) int {
	ctx, cancel := context.WithTimeout(s.t.Context(), longPatience)
	defer cancel()
	if err := s.servers[i].RestartFast(ctx); err != nil {
		s.t.Error(err)
	}
	return i
}

// restore takes a database back to what it was some seconds ago, both times while its node is dead.
func (s *storm) restore() int {
	i := s.another()
	s.kill(i)
	ended := "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" + stormDatabase + "'"
	copied := time.Now()
	s.admin(i, ended, "CREATE DATABASE copy TEMPLATE "+stormDatabase)
	s.all[i].start()
	s.until(time.Now().Add(stormOld))
	s.kill(i)
	s.admin(i, "DROP DATABASE "+stormDatabase+" WITH (FORCE)", "ALTER DATABASE copy RENAME TO "+stormDatabase)
	s.mu.Lock()
	s.restored, s.copied, s.back = i, copied, time.Now()
	s.mu.Unlock()
	s.all[i].start()
	return i
}
