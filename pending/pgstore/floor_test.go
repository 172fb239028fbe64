package pgstore_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// open returns the nonces that are not final, as the rows say, without any floor.
func (s shelf) open() []uint64 {
	s.t.Helper()
	var nonces []uint64
	err := s.conn.QueryRow(s.t.Context(), `SELECT coalesce(array_agg(nonce ORDER BY nonce), '{}') FROM conch.pending_transactions WHERE account = $1 AND NOT final`,
		[]byte(pendingtest.Account)).Scan(&nonces)
	if err != nil {
		s.t.Fatal(err)
	}
	return nonces
}

// floor returns the account's floor.
func (s shelf) floor() (n uint64) {
	s.t.Helper()
	err := s.conn.QueryRow(s.t.Context(), `SELECT coalesce(max(nonce), 0) FROM conch.pending_floors WHERE account = $1`, []byte(pendingtest.Account)).Scan(&n)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// loadsWhatIsOpen fails the test unless a leader loads each slot that is not final, and no other.
func (s shelf) loadsWhatIsOpen(when string) {
	s.t.Helper()
	want := s.open()
	for _, most := range []int{0, 3, 1000} {
		snap, err := s.Load(s.t.Context(), pendingtest.Account, 1<<62, most)
		var got []uint64
		for _, one := range snap.Slots {
			got = append(got, one.Index)
		}
		for _, run := range snap.Runs {
			for n := run.First; n <= run.Last; n++ {
				got = append(got, n)
			}
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			s.t.Fatalf("%s: with the floor %d a leader loads %v, error %v; not final are %v", when, s.floor(), got, err, want)
		}
	}
	counts, err := s.Counts(s.t.Context())
	n := 0
	for _, c := range counts {
		n += c.N
	}
	if err != nil || n != len(want) {
		s.t.Fatalf("%s: %d are counted, error %v; want %d", when, n, err, len(want))
	}
}

func changed(status pending.Status, indices ...uint64) (b pending.Batch) {
	for _, i := range indices {
		c := pending.Change{Index: i, Hash: hashOf(i), Status: status}
		if status != pending.Future {
			c.Block = chain.Block{Number: 1 + i/5, Hash: chain.Hash(fmt.Sprint("block ", i/5))}
		}
		b.Changes = append(b.Changes, c)
	}
	return b
}

// S20: a floor that is too high would lose a transaction: no leader would load it again. Whatever is written, by this
// program or another one, archived or restored, a leader loads exactly the slots that are not final.
func TestNoFloorHidesWhatIsOpen(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s, random := openShelf(t), rand.New(rand.NewPCG(seed, 1))
			next, raised := uint64(0), 0
			some := func() []uint64 { // a few neighbours, or any
				picked := map[uint64]bool{}
				for first, n := random.Uint64N(next), 1+random.Uint64N(12); n > 0; n-- {
					picked[min(first+n, next-1)] = true
				}
				picked[random.Uint64N(next)] = true
				return slices.Sorted(maps.Keys(picked))
			}
			steps := map[string]func(){
				"new slots": func() {
					var b pending.Batch
					for range 1 + random.IntN(8) {
						one := slotOf(next, pending.Intent{})
						one.Intent = nil
						b.New, next = append(b.New, one), next+1
					}
					s.write(b)
				},
				"in blocks":        func() { s.write(changed(pending.InBlock, some()...)) }, // also what was final
				"out of all":       func() { s.write(changed(pending.Future, some()...)) },
				"final":            func() { s.write(changed(pending.Finalized, some()...)) },
				"final up to one":  func() { s.finalUpTo(random.Uint64N(next)) },
				"all final":        func() { s.finalUpTo(next - 1) },
				"used by another":  func() { s.write(changed(pending.Usurped, some()...)) },
				"archived":         func() { s.archive(0) },
				"opened elsewhere": func() { s.opened(some()...) },
				"a lost floor":     func() { run(t, s.conn, `DELETE FROM conch.pending_floors`) },
				"kept":             func() { s.keep() },
				"restored":         func() { s.restore() },
			}
			names := slices.Sorted(maps.Keys(steps))
			steps["new slots"]()
			s.keep()
			for i := range 150 {
				name := names[random.IntN(len(names))]
				steps[name]()
				s.loadsWhatIsOpen(fmt.Sprintf("step %d, %s", i, name))
				if s.floor() > 0 {
					raised++
				}
			}
			if raised < 30 {
				t.Errorf("the floor was above 0 after %d steps only", raised)
			}
		})
	}
}

// finalUpTo makes everything final up to a nonce.
func (s shelf) finalUpTo(last uint64) {
	if all := s.open(); len(all) > 0 && all[0] <= last {
		s.write(changed(pending.Finalized, slices.DeleteFunc(all, func(n uint64) bool { return n > last })...))
	}
}

// opened takes an end back as a program does that does not know of floors.
func (s shelf) opened(indices ...uint64) {
	s.t.Helper()
	if _, err := s.conn.Exec(s.t.Context(), `UPDATE conch.pending_transactions SET final = false, state = 'future', block_hash = NULL WHERE nonce = ANY ($1)`, indices); err != nil {
		s.t.Fatal(err)
	}
}

// keep makes a copy of the slots that are there, and restore puts it in the place of those with the same nonces.
func (s shelf) keep() {
	s.t.Helper()
	run(s.t, s.conn, `DROP TABLE IF EXISTS public.kept; CREATE TABLE public.kept AS SELECT * FROM conch.pending_transactions`)
}

func (s shelf) restore() {
	s.t.Helper()
	run(s.t, s.conn, `BEGIN; DELETE FROM conch.pending_transactions t USING public.kept k WHERE (t.chain, t.account, t.nonce) = (k.chain, k.account, k.nonce);
		INSERT INTO conch.pending_transactions SELECT k.* FROM public.kept k
		 WHERE EXISTS (SELECT FROM conch.pending_attempts a WHERE (a.chain, a.account, a.nonce) = (k.chain, k.account, k.nonce)); COMMIT`)
}

// A floor follows what is final, a part of a long way at a time, and no write of a block reads what is below.
func TestAFloorFollows(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	const many = 45_000
	for _, sql := range []string{
		`INSERT INTO conch.pending_transactions (chain, account, nonce, hash, state, since_block, creator, final)
		 SELECT 'evm:1', $1, g, 'h', 'finalized', 1, 'x', true FROM generate_series(0, $2::int - 1) g`,
		`INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, gas, filler)
		 SELECT 'evm:1', $1, g, 1, 'h', '', 1, false FROM generate_series(0, $2::int) g`,
		`INSERT INTO conch.pending_transactions (chain, account, nonce, hash, since_block, creator) VALUES ('evm:1', $1, $2, 'h', 1, 'x')`,
	} {
		if _, err := s.conn.Exec(t.Context(), sql, []byte(pendingtest.Account), many); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []uint64{20_001, 40_002, many, many} {
		s.write(changed(pending.InBlock, many))
		if got := s.floor(); got != want {
			t.Errorf("after %d writes the floor is %d, want %d", i+1, got, want)
		}
		s.loadsWhatIsOpen("a write")
	}
	s.write(changed(pending.Finalized, many))
	if got := s.floor(); got != many {
		t.Errorf("above all that is final the floor is %d, want that of the newest, %d", got, many)
	}
}

// Each change of a slot's state is written in place: no index gets a new entry. The server is the test's own: on the shared
// one the transactions of other tests keep the room of former states from being used.
func TestStatesAreWrittenInPlace(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const many = 300
	cfg := pg.Config{URL: pgtest.Own(t, postmaster.Config{Settings: map[string]string{"autovacuum": "off"}}).URL("postgres")}
	conn := pgtest.Connect(t, cfg)
	run(t, conn, `CREATE SCHEMA IF NOT EXISTS conch`)
	if err := made(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	d := opened(t, cfg, 1)
	s := shelf{Store: d.Store("evm:1", "test"), t: t, conn: conn}
	var slots, block, final pending.Batch
	for i := range uint64(many) {
		one, hash := slotOf(i, s.accept("")), chain.Hash(fmt.Sprintf("a hash of 32 bytes, of slot %5d", i))
		one.Attempts[0].Hash = hash
		slots.New = append(slots.New, one)
		c := pending.Change{Index: i, Hash: hash, Status: pending.InBlock, Block: chain.Block{Number: 9, Hash: hash}}
		block.Changes = append(block.Changes, c)
		c.Status, c.Intent, c.Witnesses = pending.Finalized, pending.Done, [2]string{"rpc.one.example", "rpc.two.example"}
		final.Changes = append(final.Changes, c)
	}
	for _, b := range []pending.Batch{slots, block, final} {
		s.write(b)
	}
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var updated, inPlace int
	if err := s.conn.QueryRow(t.Context(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'pending_transactions'`).Scan(&updated, &inPlace); err != nil {
		t.Fatal(err)
	}
	if updated != 2*many || inPlace != updated {
		t.Errorf("of %d changes %d were written in place, want all %d", updated, inPlace, 2*many)
	}
}

// shelfWithFinal returns a shelf with slots from 0 on, of which those below a nonce are final.
func shelfWithFinal(t *testing.T, many, final uint64) shelf {
	t.Helper()
	s := openShelf(t)
	var b pending.Batch
	for i := range many {
		one := slotOf(i, pending.Intent{})
		one.Intent = nil
		b.New = append(b.New, one)
	}
	s.write(b)
	s.finalUpTo(final - 1)
	if got := s.floor(); got != final {
		t.Fatalf("the floor is %d, want %d", got, final)
	}
	return s
}

// Two writes at once: one takes back an end above the floor, and the other, which cannot see that yet, stores that all is
// final. Whichever ends first, a leader loads what is open.
func TestAFloorBetweenTwoWrites(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"the one that opens ends last", "the one that opens ends first", "the one that adds a slot ends last"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shelfWithFinal(t, 10, 3)
			s.write(changed(pending.Finalized, 5))
			tx, err := s.conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			do := func(sql string) {
				t.Helper()
				if _, err := tx.Exec(t.Context(), sql, []byte(pendingtest.Account)); err != nil {
					t.Fatal(err)
				}
			}
			watch := s
			watch.conn = s.db.Connect(t)
			rest := changed(pending.Finalized, 3, 4, 6, 7, 8, 9)
			const end = `SELECT conch.pending_floor('evm:1', $1, 5)`
			if name == "the one that adds a slot ends last" {
				do(`INSERT INTO conch.pending_transactions (chain, account, nonce, hash, since_block, creator) VALUES ('evm:1', $1, 10, 'h', 1, 'x')`)
				do(`INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, gas, filler) VALUES ('evm:1', $1, 10, 1, 'h', 's', 1, true)`)
				watch.write(rest)
			} else {
				do(`UPDATE conch.pending_transactions SET final = false, state = 'future' WHERE account = $1 AND nonce = 5`)
			}
			switch name {
			case "the one that opens ends last":
				watch.write(rest)
				do(end)
			case "the one that opens ends first":
				do(end)
				rest.Account, rest.Number = pendingtest.Account, writes.Add(1)
				ended := make(chan error, 1)
				go func() { ended <- s.Write(t.Context(), current, rest) }()
				pgtest.Eventually(t, 20*time.Second, "the other write waits", func() bool {
					var waits bool
					err := watch.conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits)
					return err == nil && waits || len(ended) > 0
				})
				defer func() {
					if err := wait(t, ended); err != nil {
						t.Error(err)
					}
					watch.loadsWhatIsOpen("both writes have ended")
				}()
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if name != "the one that opens ends first" {
				watch.loadsWhatIsOpen("both writes have ended")
			}
		})
	}
}

// A transaction that sees an old snapshot raises no floor.
func TestAnOldSnapshotRaisesNoFloor(t *testing.T) {
	t.Parallel()
	s := shelfWithFinal(t, 10, 3)
	s.write(changed(pending.Finalized, 3, 4, 5))
	run(t, s.conn, `UPDATE conch.pending_floors SET nonce = 3`)
	other := s.db.Connect(t)
	run(t, other, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM conch.pending_transactions`)
	s.opened(5)
	run(t, other, `SELECT conch.pending_floor(chain, account, 9) FROM conch.pending_accounts; COMMIT`)
	s.loadsWhatIsOpen("an old snapshot was used")
}

// A write lowers the floor also by what it says itself: its trigger may have looked before another write raised it.
func TestAWriteSaysWhatItOpens(t *testing.T) {
	t.Parallel()
	s := shelfWithFinal(t, 10, 8)
	run(t, s.conn, `ALTER TABLE conch.pending_transactions DISABLE TRIGGER pending_update`)
	s.write(changed(pending.InBlock, 3, 6))
	s.loadsWhatIsOpen("two ends are taken back")
}
