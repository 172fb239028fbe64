package pgstore_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/pgstore"
)

// filled makes a database whose log has so many entries, all of term 2.
func filled(t *testing.T, n int) (db *pgtest.DB, d *pgstore.Database, all []txlog.Record) {
	t.Helper()
	db = pgtest.New(t)
	d = created(t, db.Config())
	leader := follows(t, d, poll)
	_, yield := leader.leads(minted(t, db.Connect(t)))
	all = several(t, nil, 2, n)
	for _, r := range all {
		leader.Append(r)
	}
	leader.commits(uint64(n))
	yield()
	leader.stop()
	receive(t, leader.ended)
	return db, d, all
}

// V7: what has changed in the database, by a fault of its disk, a restored backup or a hand, is found, and the node stops: it never
// rewinds, and tells no wrong entry.
func TestAChangedDatabaseIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql   string
		knows int
		want  error
	}{
		"a bit of a record":         {`UPDATE conch.log_record SET raw = set_byte(raw, 40, get_byte(raw, 40) # 1) WHERE index = 2`, 1, pgstore.ErrDamaged},
		"its hash":                  {`UPDATE conch.log_record SET hash = sha256('x') WHERE index = 2`, 1, pgstore.ErrDamaged},
		"what is known":             {`UPDATE conch.log_record SET hash = sha256('x') WHERE index = 2`, 2, pgstore.ErrForked},
		"another record":            {`UPDATE conch.log_record SET raw = o.raw, hash = o.hash FROM conch.log_record o WHERE conch.log_record.index = 2 AND o.index = 3`, 1, pgstore.ErrDamaged},
		"a record is gone":          {`DELETE FROM conch.log_record WHERE index = 2`, 1, pgstore.ErrForked},
		"the last one is gone":      {`DELETE FROM conch.log_record WHERE index = 3`, 2, pgstore.ErrDamaged},
		"what is known is gone":     {`DELETE FROM conch.log_record WHERE index = 2`, 2, pgstore.ErrForked},
		"the end of the log":        {`UPDATE conch.log SET newest = 2`, 3, pgstore.ErrForked},
		"it was restored":           {`WITH gone AS (DELETE FROM conch.log_record WHERE index > 1) UPDATE conch.log SET newest = 1`, 3, pgstore.ErrForked},
		"it was restored elsewhere": {`WITH gone AS (DELETE FROM conch.log_record) UPDATE conch.log SET newest = 0`, 1, pgstore.ErrForked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d, all := filled(t, 3)
			run(t, db.Connect(t), c.sql)
			n := follows(t, d, often, all[:c.knows]...)
			if err := receive(t, n.ended); !errors.Is(err, c.want) {
				t.Errorf("the node ended with %v, want %v", err, c.want)
			}
			for _, f := range n.took() {
				if _, is := f.(authority.Stored); is {
					t.Errorf("told %+v", f)
				}
			}
			if err := n.Lead(t.Context(), token(9)); !errors.Is(err, pgstore.ErrStopped) || !errors.Is(err, c.want) {
				t.Errorf("a node that has stopped leads: %v", err)
			}
		})
	}
}

// Somebody writes to the table without the fence: the leader does not go on as if nothing had happened.
func TestSomebodyElseWrites(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]string{
		"through the function": `SELECT conch.log_append($1, $2, 2, $3, $4, $5)`,
		"into the table":       `INSERT INTO conch.log_record SELECT $1, $3, ($4::bytea[])[1], ($5::bytea[])[1] WHERE $2::text <> ''`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			conn := db.Connect(t)
			n := follows(t, created(t, db.Config()), poll)
			ended, _ := n.leads(minted(t, conn))
			first := several(t, nil, 2, 1)
			n.Append(first[0])
			n.commits(1)
			theirs := []txlog.Record{after(t, first, 2, txlog.Entry{Kind: txlog.Executed, GoalID: "theirs"})}
			run(t, conn, add, first[0].Log[:], scope, 2, raws(theirs), hashes(theirs))
			n.Append(several(t, first, 2, 1)[0])
			if err := receive(t, ended); !errors.Is(err, pgstore.ErrTaken) {
				t.Errorf("the leadership ended with %v, want %v", err, pgstore.ErrTaken)
			}
			n.hears("it is deposed", func(f authority.Fact) bool { return f == authority.Deposed{Term: 2} })
		})
	}
}

// A log is that of one scope: the leader of another one does not append to it.
func TestAnotherScopeDoesNotLead(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := created(t, db.Config())
	conn := db.Connect(t)
	other := minted(t, conn)
	other.Scope = "another"
	n := follows(t, d, poll)
	scoped, _ := n.tries(other)
	if err := receive(t, scoped); !errors.Is(err, pgstore.ErrScope) {
		t.Errorf("the leader of another scope: %v, want %v", err, pgstore.ErrScope)
	}
	one := several(t, nil, 2, 1)
	if _, err := conn.Exec(t.Context(), `SELECT conch.log_append($1, 'another', 2, 1, $2, $3)`, one[0].Log[:], raws(one), hashes(one)); err == nil {
		t.Error("the function takes an append of another scope")
	}
	if err := d.Create(t.Context(), genesis, "another"); !errors.Is(err, pgstore.ErrScope) {
		t.Errorf("the same log for another scope: %v, want %v", err, pgstore.ErrScope)
	}
	if err := d.Create(t.Context(), genesis, scope); err != nil {
		t.Errorf("the same log again: %v", err)
	}
	missing := txlog.Genesis{Namespace: "missing"}.Start()
	a, err := d.Authority(pgstore.Settings{At: missing, Tell: func(authority.Fact) {}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(t.Context()) }()
	led := make(chan error, 1)
	go func() { led <- a.Lead(t.Context(), token(2)) }()
	if err := receive(t, led); !errors.Is(err, pgstore.ErrScope) {
		t.Errorf("a log that is not there: %v, want %v", err, pgstore.ErrScope)
	}
	if _, _, err := d.Genesis(t.Context(), missing.Log); !errors.Is(err, pgstore.ErrScope) {
		t.Errorf("the genesis of a log that is not there: %v", err)
	}
}

// The database stores no gap, and nothing of a term before the newest: were the election's rows lost, its epochs could begin anew.
func TestTheDatabaseStoresNoGap(t *testing.T) {
	t.Parallel()
	db, _, all := filled(t, 2)
	conn := db.Connect(t)
	more := several(t, all, 2, 2)
	for what, c := range map[string]struct {
		term  int
		first uint64
		r     []txlog.Record
	}{"a gap": {2, 4, more[1:]}, "an older term": {1, 3, more[:1]}} {
		_, err := conn.Exec(t.Context(), `SELECT conch.log_append($1, $2, $3, $4, $5, $6)`, all[0].Log[:], scope, c.term, c.first, raws(c.r), hashes(c.r))
		if pg.Code(err) != "CN031" {
			t.Errorf("%s: %v, want CN031", what, err)
		}
	}
	run(t, conn, `SELECT conch.log_append($1, $2, 2, 3, $3, $4)`, all[0].Log[:], scope, raws(more), hashes(more))
}

// A log that goes on with the state of a lost one goes on with its indices.
func TestALogWithAParent(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	g := genesis
	g.Parent, g.State = txlog.Position{Log: txlog.ID{1}, Index: 40, Term: 9, Hash: txlog.Hash{2}}, txlog.Hash{3}
	d := opened(t, db.Config())
	if err := d.Create(t.Context(), g, scope); err != nil {
		t.Fatal(err)
	}
	if got, s, err := d.Genesis(t.Context(), g.ID()); err != nil || s != scope || !reflect.DeepEqual(got, g) {
		t.Errorf("the genesis is %+v of scope %q, error %v", got, s, err)
	}
	told := make(chan authority.Fact, 10)
	a, err := d.Authority(pgstore.Settings{At: g.Start(), Tell: func(f authority.Fact) { told <- f }})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	ctx := t.Context()
	go func() { ended <- a.Run(ctx) }()
	token := minted(t, db.Connect(t))
	go func() { ended <- a.Lead(ctx, token) }()
	if f := receive(t, told); f != (authority.Leads{Term: 2}) {
		t.Fatalf("told %+v", f)
	}
	at := g.Start()
	r, err := txlog.Seal(txlog.Entry{Log: at.Log, Index: 41, Term: 2, Prev: at.Hash, Kind: txlog.Opening, Leader: "a"})
	if err != nil {
		t.Fatal(err)
	}
	a.Append(r)
	receive(t, told)
	if f := receive(t, told); f != (authority.Committed{Index: 41}) {
		t.Errorf("told %+v", f)
	}
	all, err := d.Records(ctx, at.Log, 41)
	if err != nil || len(all) != 1 || all[0].Hash() != r.Hash() {
		t.Errorf("%d records from 41 on, error %v", len(all), err)
	}
}

// What is configured wrongly is refused; an authority runs once, and one that has ended leads no more.
func TestWhatAnAuthorityRefuses(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := created(t, db.Config())
	if _, err := d.Authority(pgstore.Settings{Poll: -1}); err == nil || len(err.(interface{ Unwrap() []error }).Unwrap()) != 3 {
		t.Errorf("three faults: %v", err)
	}
	n := follows(t, d, time.Second)
	pgtest.Eventually(t, patience, "it runs", func() bool { n.Confirm(1); return len(n.took()) > 0 })
	if err := n.Run(t.Context()); err == nil {
		t.Error("an authority runs twice")
	}
	ended, _ := n.leads(minted(t, db.Connect(t)))
	n.stop()
	if err := receive(t, ended); !errors.Is(err, pgstore.ErrStopped) {
		t.Errorf("the leadership of an authority that ends: %v, want %v", err, pgstore.ErrStopped)
	}
	if _, err := d.Records(t.Context(), genesis.ID(), 0); err == nil {
		t.Error("there are records from index 0 on")
	}
}

// What is said to an authority that has ended is dropped: nobody takes it any more, and a node may say it for as long as it lives.
func TestAnAuthorityThatHasEndedKeepsNothing(t *testing.T) {
	t.Parallel()
	d := created(t, pgtest.New(t).Config())
	a, err := d.Authority(pgstore.Settings{At: genesis.Start(), Tell: func(authority.Fact) {}, Trouble: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	a.Append(several(t, nil, 1, 1)[0])
	a.Confirm(1)
	if got := a.Waiting(); got != 0 {
		t.Errorf("%d inputs wait for nobody", got)
	}
}
