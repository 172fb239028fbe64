package pgstore_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// atCommit makes each commit of an append wait while somebody holds the advisory lock 7.
const atCommit = `
	CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
	    PERFORM pg_advisory_xact_lock_shared(7);
	    RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON conch.log_record DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait()`

const (
	waitsAtCommit = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	waitsForRow   = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple')`
	records       = `SELECT count(*) FROM conch.log_record`
)

// only checks that records were told once, in order, and nothing else.
func only(t *testing.T, told []authority.Fact, want ...txlog.Record) {
	t.Helper()
	var got []txlog.Record
	for _, f := range told {
		switch f := f.(type) {
		case authority.Stored:
			got = append(got, f.Records...)
		case authority.Committed:
		default:
			t.Errorf("told %+v", f)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("told %d records, want %d", len(got), len(want))
	}
}

// B13: the answer of a commit is lost. The leader says nothing until it has read back what became of it, and never that it has
// failed; the others have the entry already.
func TestTheAnswerOfACommitIsLost(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := created(t, db.Config())
	conn := db.Connect(t)
	line, url := db.Proxy(t)
	n, other := follows(t, opened(t, through(url)), poll), follows(t, d, poll)
	n.leads(minted(t, conn))
	all := several(t, nil, 2, 1)
	n.Append(all[0])
	n.commits(1)
	more := several(t, all, 2, 2)
	line.Blackhole(tcpproxy.ToClient)
	n.Append(more[0])
	n.Append(more[1])
	other.commits(2)
	if told := n.took(); len(told) > 0 {
		t.Errorf("told %+v before anybody knows", told)
	}
	line.Reset()
	line.Heal()
	only(t, n.commits(3), more...)
	if stored := asked[int](t, conn, records); stored != 3 {
		t.Errorf("%d records are stored, want 3", stored)
	}
}

// The server ends the session of an append while it commits: nobody has stored anything, and the repetition does.
func TestASessionIsEndedAtItsCommit(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := created(t, db.Config())
	conn, holder := db.Connect(t), db.Connect(t)
	run(t, conn, atCommit)
	n := follows(t, d, poll)
	n.leads(minted(t, conn))
	run(t, holder, `SELECT pg_advisory_lock(7)`)
	all := several(t, nil, 2, 1)
	n.Append(all[0])
	pgtest.Eventually(t, patience, "the append waits at its commit", func() bool { return asked[int](t, conn, waitsAtCommit) == 1 })
	run(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted`)
	pgtest.Eventually(t, patience, "the session has ended", func() bool { return len(n.troubled()) > 0 })
	if stored := asked[int](t, conn, records); stored != 0 {
		t.Errorf("%d records are stored, want none", stored)
	}
	if told := n.took(); len(told) > 0 {
		t.Errorf("told %+v, and nothing is stored", told)
	}
	run(t, holder, `SELECT pg_advisory_unlock(7)`)
	only(t, n.commits(1), all...)
}

// A first try is under way in the server, whose client is gone: the repetition waits for it, and does what is left to do. Either way
// the records are stored and told once.
func TestARepetitionWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			n := follows(t, created(t, db.Config()), poll)
			conn, first := db.Connect(t), db.Connect(t)
			n.leads(minted(t, conn))
			all := several(t, nil, 2, 3)
			run(t, first, `BEGIN`)
			run(t, first, `SELECT conch.log_append($1, $2, 2, 1, $3, $4)`, all[0].Log[:], scope, raws(all), hashes(all))
			for _, r := range all {
				n.Append(r)
			}
			pgtest.Eventually(t, patience, "the repetition waits for it", func() bool { return asked[int](t, conn, waitsForRow) == 1 })
			if told := n.took(); len(told) > 0 {
				t.Errorf("told %+v before anybody knows", told)
			}
			run(t, first, ends)
			only(t, n.commits(3), all...)
			if stored := asked[int](t, conn, records); stored != 3 {
				t.Errorf("%d records are stored, want 3", stored)
			}
		})
	}
}

func raws(all []txlog.Record) (list [][]byte) {
	for _, r := range all {
		list = append(list, r.Raw())
	}
	return list
}

func hashes(all []txlog.Record) (list [][]byte) {
	for _, r := range all {
		h := r.Hash()
		list = append(list, h[:])
	}
	return list
}

// S15: of two leaders one is stale. What it appends is refused, it is deposed, and it follows the other one.
func TestOfTwoLeadersOneIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := created(t, db.Config())
	conn := db.Connect(t)
	old, next := follows(t, d, poll), follows(t, opened(t, db.Config()), poll)
	ended, _ := old.leads(minted(t, conn))
	first := several(t, nil, 2, 1)
	old.Append(first[0])
	old.commits(1)
	next.leads(minted(t, conn))
	kept, lost := several(t, first, 3, 1), several(t, first, 2, 2)
	old.Append(lost[0])
	old.Append(lost[1])
	if err := receive(t, ended); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the old leadership ended with %v, want %v", err, fence.ErrStale)
	}
	next.Append(kept[0])
	next.commits(2)
	told := old.commits(2)
	if want := []authority.Fact{
		authority.Deposed{Term: 2}, authority.Deposed{Term: 3, Leader: "me"}, authority.Stored{Records: kept}, authority.Committed{Index: 2},
	}; !reflect.DeepEqual(told, want) {
		t.Errorf("the old leader was told %+v, want %+v", told, want)
	}
	old.Append(lost[0])
	if err := old.Lead(t.Context(), token(2)); err == nil || errors.Is(err, fence.ErrStale) {
		t.Errorf("the old token leads again: %v", err)
	}
	if stored := asked[int](t, conn, records); stored != 2 {
		t.Errorf("%d records are stored, want 2", stored)
	}
}

// S15: a token that is over never leads, although the log has no entry of its successor yet.
func TestAStaleTokenNeverLeads(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	n := follows(t, created(t, db.Config()), poll)
	minted(t, db.Connect(t))
	ended, _ := n.tries(token(1))
	if err := receive(t, ended); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a stale token leads, and ends with %v, want %v", err, fence.ErrStale)
	}
	if told := n.took(); len(told) > 0 {
		t.Errorf("told %+v", told)
	}
}

// The old leader's append is under way: the next leader's mint waits for it, so it leads with that entry (opening).
func TestTheNextLeaderHasWhatWasUnderWay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := created(t, db.Config())
	conn, holder, mint := db.Connect(t), db.Connect(t), db.Connect(t)
	run(t, conn, atCommit)
	old, next := follows(t, d, poll), follows(t, opened(t, db.Config()), poll)
	_, yield := old.leads(minted(t, conn))
	run(t, holder, `SELECT pg_advisory_lock(7)`)
	all := several(t, nil, 2, 1)
	old.Append(all[0])
	pgtest.Eventually(t, patience, "the append waits at its commit", func() bool { return asked[int](t, conn, waitsAtCommit) == 1 })
	epoch := make(chan fence.Token, 1)
	go func() {
		var e int64
		if err := mint.QueryRow(t.Context(), `SELECT public.mint()`).Scan(&e); err != nil {
			t.Error(err)
		}
		epoch <- token(e)
	}()
	pgtest.Eventually(t, patience, "the mint waits for the append", func() bool {
		return asked[int](t, conn, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 1
	})
	run(t, holder, `SELECT pg_advisory_unlock(7)`)
	next.tries(receive(t, epoch))
	told := next.hears("the next one leads", func(f authority.Fact) bool { _, is := f.(authority.Leads); return is })
	if want := []authority.Fact{
		authority.Deposed{Term: 2, Leader: "me"}, authority.Stored{Records: all}, authority.Committed{Index: 1}, authority.Leads{Term: 3},
	}; !reflect.DeepEqual(told, want) {
		t.Errorf("told %+v, want %+v", told, want)
	}
	yield()
}
