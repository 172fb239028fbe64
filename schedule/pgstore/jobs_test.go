package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/text/unicode/norm"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/name"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// take takes jobs, which must be those.
func take(t *testing.T, s *pgstore.Store, most int, want ...int64) []schedule.Job {
	t.Helper()
	got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: most})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, j := range got.Jobs {
		ids = append(ids, j.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, want) {
		t.Errorf("took %v, want %v", ids, want)
	}
	return got.Jobs
}

// tell ends an attempt, and reports whether it was not over.
func tell(t *testing.T, s *pgstore.Store, e schedule.End) bool {
	t.Helper()
	out, err := s.Tell(t.Context(), []schedule.End{e})
	if err != nil || len(out.Held) > 0 {
		t.Fatalf("%+v: %+v, %v", e, out, err)
	}
	return len(out.Over) == 0
}

func of(id int64, attempt int, outcome string) schedule.End {
	return schedule.End{Key: schedule.Key{ID: id, Attempt: attempt}, Outcome: outcome, Error: "it does not work"}
}

func refused(err error, code string) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == code
}

// Bad input: a name that people could take for another one is refused, and the same ones as by package name. What is not assigned, or private, it knows nothing of.
func TestNamesThatNobodyCanRead(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	var runes, odd []int32
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !unicode.IsOneOf([]*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf}, r) {
			continue
		}
		text := "a" + string(r) + "a"
		if runes = append(runes, r); !norm.NFC.IsNormalString(text) {
			continue
		}
		if name.Fault(text) != "" {
			odd = append(odd, r)
		}
	}
	var found []int32
	for _, r := range scan[[]int32](t, conn, `SELECT array_agg(r) FROM unnest($1::int[]) r WHERE NOT conch.job_legible('a' || chr(r) || 'a')`, runes) {
		if norm.NFC.IsNormalString("a" + string(r) + "a") {
			found = append(found, r)
		}
	}
	for _, r := range found {
		if !slices.Contains(odd, r) {
			t.Errorf("%U is refused", r)
		}
	}
	for _, r := range odd {
		if !slices.Contains(found, r) {
			t.Errorf("%U is not refused", r)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, names := range [][4]string{{"mail ", "a", "a", "a"}, {"mail\u200b", "a", "a", "a"}, {"q", " a", "a", "a"}, {"q", "a", "cafe\u0301", "a"}, {"q", "a", "a", "\u00ada"}} {
		if _, err := conn.Exec(ctx, `SELECT conch.job_add($1, $2, lane => $3, key => $4)`, names[0], names[1], names[2], names[3]); !refused(err, "CN023") {
			t.Errorf("%+q: %v", names, err)
		}
	}
	long := strings.Repeat("a", 201)
	for _, arg := range []string{`'q', ''`, `'q', NULL`, `'q', '` + long + `'`, `'q', 'a', lane => ''`, `'q', 'a', lane => '` + long + `'`, `'q', 'a', key => ''`, `'q', 'a', key => '` + long + `'`,
		`'q', 'a', timeout => '0'`, `'q', 'a', timeout => '-1s'`, `'', 'a'`, `NULL, 'a'`, `'q', 'a', priority => 4`, `'q', 'a', retries => -1`} {
		if _, err := conn.Exec(ctx, `SELECT conch.job_add(`+arg+`)`); !refused(err, "23514") && !refused(err, "23502") {
			t.Errorf("%.60s: %v", arg, err)
		}
	}
	run(t, conn, `SELECT conch.job_add('東京 mail', 'café', lane => 'customer:17', key => 'a  b')`)
}

// F13: a job that somebody adds is taken, and ended once.
func TestAJob(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'hello', '{"to": 1}', timeout => '90s')`)
	scan[int64](t, conn, `SELECT conch.job_add('other', 'hello')`)
	j := take(t, s, 10, id)[0]
	if j.Attempt != 1 || j.Queue != "q" || string(j.Handler) != `{"job": "hello"}` || string(j.Args) != `{"to": 1}` || j.Timeout != 90*time.Second || j.Cron != "" {
		t.Errorf("took %+v", j)
	}
	take(t, s, 10)
	if tell(t, s, of(id, 2, "done")) {
		t.Error("an attempt that has not begun ends")
	}
	if !tell(t, s, schedule.End{Key: j.Key, Outcome: "done", Result: []byte(`{"ok": true}`)}) {
		t.Error("an attempt is over before its end")
	}
	if tell(t, s, of(id, 1, "done")) {
		t.Error("an attempt ends twice")
	}
	if got := scan[string](t, conn, `SELECT outcome || result FROM conch.job_attempts WHERE job = $1`, id); got != `done{"ok": true}` {
		t.Errorf("the attempt is %s", got)
	}
}

// A worker whose post is another's takes nothing.
func TestAStaleWorkerTakesNothing(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'hello')`)
	stale := worker
	stale.Epoch = 7
	if got, err := s.Take(t.Context(), stale, []string{"q"}, schedule.Take{Most: 1}); !errors.Is(err, fence.ErrStale) || len(got.Jobs) != 0 {
		t.Errorf("took %v, %v", got, err)
	}
	take(t, s, 1, id)
}

// The effect of a handler and the end of its attempt are one: a handler that was frozen while its job was given back undoes its effect.
func TestEffectAndEndAreOne(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	run(t, conn, `CREATE TABLE public.paid (job bigint)`)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'pay')`)
	take(t, s, 1, id)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	late, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Exec(ctx, `INSERT INTO public.paid VALUES ($1)`, id); err != nil {
		t.Fatal(err)
	}
	tell(t, s, of(id, 1, "lost"))
	if _, err := late.Exec(ctx, `SELECT conch.job_done($1, 1)`, id); !refused(err, "CN021") {
		t.Errorf("the end of a lost attempt is %v", err)
	}
	if err := late.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	j := take(t, s, 1, id)[0]
	if j.Attempt != 2 {
		t.Errorf("it is attempt %d", j.Attempt)
	}
	run(t, conn, `BEGIN; INSERT INTO public.paid VALUES (`+fmt.Sprint(id)+`); SELECT conch.job_done(`+fmt.Sprint(id)+`, 2); COMMIT`)
	if n := scan[int](t, conn, `SELECT count(*) FROM public.paid`); n != 1 {
		t.Errorf("%d effects", n)
	}
}

// job_hold keeps an attempt from being given back until the transaction ends, and refuses one that is over.
func TestHold(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'pay')`)
	take(t, s, 1, id)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `SELECT conch.job_hold($1, 1)`, id); err != nil {
		t.Fatal(err)
	}
	more := scan[int64](t, other, `SELECT conch.job_add('q', 'pay')`)
	take(t, s, 1, more)
	if out, err := s.Tell(ctx, []schedule.End{of(id, 1, "lost"), of(more, 1, "done")}); err != nil || len(out.Held) != 1 || out.Held[0].ID != id || len(out.Over) != 0 {
		t.Errorf("told the ends of an attempt that is held, and of another one: %+v, %v", out, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	tell(t, s, of(id, 1, "lost"))
	if _, err := conn.Exec(ctx, `SELECT conch.job_hold($1, 1)`, id); !refused(err, "CN021") {
		t.Errorf("an attempt that is over is held: %v", err)
	}
	take(t, s, 1, id)
	if _, err := conn.Exec(ctx, `SELECT conch.job_hold($1, 1)`, id); !refused(err, "CN021") {
		t.Errorf("an attempt is held that another one has followed: %v", err)
	}
}

// A job that fails is tried again, later, and in the end it is dead. An attempt counts when it is taken, unless its worker or its handler puts it off. A
// delay that was made while the clock was ahead is over.
func TestFailures(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', retries => 2)`)
	take(t, s, 1, id)
	e := of(id, 1, "failed")
	e.Pause = time.Hour
	tell(t, s, e)
	take(t, s, 1)
	run(t, conn, `UPDATE conch.job_later SET made_at = now() + interval '1h', run_at = now() + interval '2h'`)
	for attempt, outcome := range []string{2: "later", 3: "lost", 4: "released", 5: "failed"} {
		if attempt >= 2 {
			if j := take(t, s, 1, id)[0]; j.Attempt != attempt {
				t.Errorf("it is attempt %d", j.Attempt)
			}
			tell(t, s, of(id, attempt, outcome))
		}
	}
	take(t, s, 1)
	if why := scan[string](t, conn, `SELECT why || attempt FROM conch.job_dead WHERE job = $1`, id); why != "it does not work5" {
		t.Errorf("it is dead because of %s", why)
	}
	id = scan[int64](t, conn, `SELECT conch.job_add('q', 'work', retries => 2)`)
	take(t, s, 1, id)
	tell(t, s, of(id, 1, "dead"))
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_dead`); n != 2 {
		t.Errorf("%d are dead", n)
	}
}

// What is to come later is not taken before; what is more urgent goes first, but does not starve the rest.
func TestOrder(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	scan[int64](t, conn, `SELECT conch.job_add('q', 'later', run_at => now() + interval '1 day')`)
	old := scan[int64](t, conn, `SELECT conch.job_add('q', 'old', priority => 3, run_at => now() - interval '1h')`)
	low := scan[int64](t, conn, `SELECT conch.job_add('q', 'low', priority => 2)`)
	high := scan[int64](t, conn, `SELECT conch.job_add('q', 'high', priority => 0)`)
	take(t, s, 1, old)
	take(t, s, 1, high)
	take(t, s, 5, low)
}

// One job of a lane is at work at a time, in the order in which they were added; a dead one makes way.
func TestLanes(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	var ids []int64
	for range 3 {
		ids = append(ids, scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'a', retries => 0)`))
	}
	other := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', lane => 'b')`)
	take(t, s, 9, ids[0], other)
	take(t, s, 9)
	tell(t, s, of(ids[0], 1, "done"))
	take(t, s, 9, ids[1])
	tell(t, s, of(ids[1], 1, "failed"))
	take(t, s, 9, ids[2])
	tell(t, s, of(ids[2], 1, "done"))
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_lanes WHERE lane = 'a'`); n != 0 {
		t.Error("the lane is still held")
	}
}

// Jobs that are added to a lane while its head ends all come to work.
func TestNoneWaitsForEver(t *testing.T) {
	t.Parallel()
	const adders, each = 3, 30
	db := pgtest.New(t)
	s := open(t, db.Config())
	var group sync.WaitGroup
	for range adders {
		conn := db.Connect(t)
		group.Go(func() {
			for range each {
				if _, err := conn.Exec(t.Context(), `SELECT conch.job_add('q', 'work', lane => 'a')`); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := 0
	pgtest.Eventually(t, patience, "the end of all jobs", func() bool {
		got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: 10})
		if err != nil || len(got.Jobs) > 1 {
			t.Errorf("took %d jobs of one lane, %v", len(got.Jobs), err)
		}
		for _, j := range got.Jobs {
			for { // an adder may hold the lane
				out, err := s.Tell(t.Context(), []schedule.End{of(j.ID, j.Attempt, "done")})
				if err == nil && len(out.Held) == 0 {
					break
				}
			}
			done++
		}
		return done == adders*each
	})
	group.Wait()
}

// A key is one job until that has ended.
func TestKeys(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`)
	if again := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`); again != id {
		t.Errorf("the key has the jobs %d and %d", id, again)
	}
	take(t, s, 2, id)
	tell(t, s, of(id, 1, "done"))
	if again := scan[int64](t, conn, `SELECT conch.job_add('q', 'work', key => 'k')`); again == id {
		t.Error("the key is still that of a job that has ended")
	}
}

// Workers beside each other take each job once.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	const jobs, workers = 300, 4
	s, conn := opened(t)
	run(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(1, $1)`, jobs)
	var mu sync.Mutex
	var group sync.WaitGroup
	taken := map[int64]bool{}
	for range workers {
		group.Go(func() {
			for {
				got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: 7})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, j := range got.Jobs {
					if taken[j.ID] {
						t.Errorf("job %d is taken twice", j.ID)
					}
					taken[j.ID] = true
				}
				all := len(taken)
				mu.Unlock()
				if len(got.Jobs) == 0 && all == jobs {
					return
				}
			}
		})
	}
	group.Wait()
}

// Arguments have a limit, and a NUL in them is refused when it is read as text.
func TestBadJobs(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	for sql, code := range map[string]string{
		`SELECT conch.job_add('q', 'work', to_json(repeat('a', 300000)))`: "23514",
		`SELECT conch.job_add('', 'work')`:                                "23514",
		`SELECT conch.job_add('q', 'work', priority => 4)`:                "23514",
		`SELECT conch.job_add('q', 'work', retries => -1)`:                "23514",
		`SELECT conch.job_add('q', 'work', '{')`:                          "22P02",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := conn.Exec(ctx, sql); !refused(err, code) {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
		cancel()
	}
}
