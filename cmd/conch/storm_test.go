//go:build unix

package main_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// Settings of the run: how long, as 10m, and the seed of its faults.
const (
	envStorm     = "CONCH_STORM"
	envStormSeed = "CONCH_STORM_SEED"
)

const settleStorm = 3 * time.Minute // for every payment to end

// P28, P33, P38 to P43, I1 to I4: five organisations make ten payments a second over six purses of few notes, while nodes are
// killed, cut off and stopped, databases restarted and one is put back. By the chain's own data, from each fault's last second on
// no more is skipped than lands; a payment waits 15 s at most, of a hundred all but one; each lands once, and users are told the
// truth. A machine that is busy with something else would be judged too: so make nightly runs it alone, at last.
//
// It prints a row for each fault: who was hit, what landed and was skipped while it lasted and after it, how long users waited, and
// why entries were skipped. The first minute has one fault that is several; then one fault comes every 40 seconds, in an order that
// the seed decides; the timing of processes is their own, so run it several times. CONCH_STORM=60s has no fault, and shows what the
// machine does at rest: no entry is skipped, and all but one of a hundred payments take less than 4 s. go test -artifacts keeps the
// nodes' logs, record.json (all that is judged) and verdict.json.
func TestAStormPasses(t *testing.T) {
	s, lasts, v := storms(t, stormRange, -1)
	if len(v.Violations) > 0 || v.Landed < int(lasts/time.Second) {
		s.t.Errorf("%d violations, %d landed; want none, and one landed for each second: or this shows nothing", len(v.Violations), v.Landed)
	}
}

// storms runs a storm for as long as the setting says, and judges it.
func storms(t *testing.T, blocks, liar int) (s *storm, lasts time.Duration, v *stormVerdict) {
	t.Helper()
	lasts, err := time.ParseDuration(os.Getenv(envStorm))
	if err != nil {
		t.Skipf("it takes minutes, and the whole machine: %s says how long (10m)", envStorm)
	}
	seed, err := strconv.ParseUint(os.Getenv(envStormSeed), 10, 64)
	if err != nil {
		seed = uint64(time.Now().Unix())
	}
	s = newStorm(t, seed, blocks, liar)
	r := s.run(seed, lasts)
	v = judgeStorm(r)
	s.keep("record.json", r)
	s.keep("verdict.json", v)
	t.Logf("again with: %s=%s %s=%d go test ./cmd/conch -run %s -count 1 -v -timeout 1h\n%s", envStorm, lasts, envStormSeed, seed, t.Name(), v)
	return s, lasts, v
}

// keep stores what a run has shown beside the logs of its nodes: go test -artifacts leaves them.
func (s *storm) keep(name string, what any) {
	s.t.Helper()
	text, err := json.MarshalIndent(what, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(s.logs, name), text, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// run has the users pay and the faults happen, and collects what is to be judged.
func (s *storm) run(seed uint64, lasts time.Duration) stormRecord {
	s.t.Helper()
	looking, stop := context.WithCancel(s.t.Context())
	var lookers, working sync.WaitGroup
	defer lookers.Wait()
	defer stop()
	for i := range s.all {
		lookers.Go(func() { s.looks(looking, i) })
	}
	lookers.Go(func() { s.watches(looking) })
	s.fills(looking)
	s.settled()
	s.lie()
	asking, enough := context.WithCancel(looking)
	defer enough()
	for i := range s.all {
		working.Go(func() { s.pays(asking, looking, i, &working) })
	}
	begun := time.Now()
	faults := s.suffers(begun.Add(stormBegins), stormPlan(seed, lasts))
	s.waits(begun.Add(lasts))
	enough()
	ends := time.Now()
	pgtest.Within(s.t, longPatience, "everything is accepted", working.Wait)
	s.settled()
	s.silences()
	s.follows()
	stop()
	lookers.Wait()
	r := stormRecord{Seed: seed, Faults: faults, Ends: ends, Issued: stormPurses * stormNotes * stormAmount, Liar: s.liar, Lies: s.lies, Life: uint64(s.blocks) / 2, Most: s.most()}
	for i, o := range s.all {
		if i != s.liar {
			s.told(i)
		}
		r.Owners = append(r.Owners, "0x"+hex.EncodeToString([]byte(o.account)))
	}
	for i, o := range s.all {
		o.stop(syscall.SIGTERM)
		r.Notes = append(r.Notes, s.notes(i))
	}
	r.Restored, r.Copied, r.Back, r.Payments = s.restored, s.copied, s.back, s.payments
	r.Entries, r.Gas = s.entries()
	return r
}

// suffers does what the plan says, each fault at its time or when the one before it is over.
func (s *storm) suffers(at time.Time, plan []stormKind) (done []stormFault) {
	s.t.Helper()
	for i, k := range plan {
		s.waits(at)
		from := time.Now()
		s.lie()
		victim := k.does(s)
		done = append(done, stormFault{Name: k.name, Victim: s.all[victim].name, From: from, To: time.Now()})
		s.t.Logf("%s: %s of %s, over at %s", from.Format(time.TimeOnly), k.name, s.all[victim].name, time.Now().Format(time.TimeOnly))
		if at = at.Add(stormEach); i == 0 {
			at = at.Add(stormFirst - stormEach)
		}
	}
	return done
}

// settled waits until each payment has its end, or that takes too long: then the verdict says so.
func (s *storm) settled() {
	for until := time.Now().Add(settleStorm); time.Now().Before(until); s.until(time.Now().Add(stormLook)) {
		open := 0
		for i := range s.all {
			if i != s.liar {
				open += len(s.open(i))
			}
		}
		if open == 0 {
			return
		}
	}
}

// silences ends the liar, whose payments nobody waits for, and waits until no grant that it has given can land any more: what landed
// while the others are stopped, some of them would have and others not.
func (s *storm) silences() {
	s.t.Helper()
	if s.liar < 0 {
		return
	}
	s.told(s.liar)
	s.all[s.liar].stop(syscall.SIGTERM)
	last := number(s.t, s.chain.call("eth_blockNumber")) + uint64(s.blocks)/2
	pgtest.Eventually(s.t, longPatience, "what the liar has granted cannot land any more", func() bool {
		return number(s.t, s.chain.call("eth_blockNumber")) > last
	})
}

// follows waits until each node has as final what the chain has now, with all contents.
func (s *storm) follows() {
	s.t.Helper()
	head := number(s.t, s.chain.call("eth_blockNumber"))
	for i := range s.all {
		if i == s.liar {
			continue
		}
		pgtest.Eventually(s.t, longPatience, "the nodes follow the chain", func() bool {
			st, err := s.status(i)
			return err == nil && st.Final >= head && st.Missing == 0
		})
	}
}

// notes reads from an organisation's database what it has unspent, by state.
func (s *storm) notes(i int) map[string]uint64 {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), longPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.all[i].db)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT id, data FROM conch.sequencer_states WHERE contract = $1`, s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[string]uint64{}
	var id, data []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &data}, func() error {
		var note struct{ Amount uint64 }
		err := json.Unmarshal(data, &note)
		found["0x"+hex.EncodeToString(id)] = note.Amount
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

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
