//go:build unix

package main_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
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
	s.follows()
	stop()
	lookers.Wait()
	r := stormRecord{Seed: seed, Faults: faults, Ends: ends, Issued: stormPurses * stormNotes * stormAmount, Liar: s.liar, Lies: s.lies, Life: uint64(s.blocks) / 2, Most: s.most()}
	for i, o := range s.all {
		s.told(i)
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
