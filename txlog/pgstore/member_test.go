package pgstore_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/pgstore"
)

// joins runs a member of the tests' log, and returns what ends it.
func joins(t *testing.T, d *pgstore.Database, name string) (m *pgstore.Member, stop func() error) {
	t.Helper()
	m, err := d.Member(t.Context(), pgstore.Config{Self: name, Log: genesis.ID(), New: kv.New, Trouble: func(err error) { t.Log(name, err) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return m, func() error { cancel(); return receive(t, ended) }
}

// B13, B14, B15: two nodes have one log. What the one that leads has executed both have, once; when it leads no more, the other one leads.
func TestMembersHaveOneLog(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d, conn := created(t, db.Config()), db.Connect(t)
	a, stopA := joins(t, d, "a")
	b, stopB := joins(t, d, "b")
	within, done := context.WithTimeout(t.Context(), patience)
	defer done()
	add := []byte(`{"op":"add","key":"count"}`)
	for i, leader := range []*pgstore.Member{a, b} {
		ctx, yield := context.WithCancel(within)
		led, token := make(chan error, 1), minted(t, conn)
		go func() { led <- leader.Lead(ctx, token) }()
		for _, id := range []string{"first", "first", []string{"of a", "of b"}[i]} {
			got, err := leader.Goal(within, id, add, 1)
			for ; errors.Is(err, txlog.ErrNotLeader) && within.Err() == nil; got, err = leader.Goal(within, id, add, 1) {
				runtime.Gosched() // it has not heard yet that it leads
			}
			if err != nil || got.Fault != "" {
				t.Fatalf("%s: %+v, %v", id, got, err)
			}
		}
		for _, m := range []*pgstore.Member{a, b} {
			if got, at, err := m.Fresh(within, []byte(`{"get":"count"}`)); err != nil || at.Index < 3 || string(got) != []string{`{"key":"count","value":2,"found":true}`, `{"key":"count","value":3,"found":true}`}[i] {
				t.Errorf("%s at %d, %v", got, at.Index, err)
			}
		}
		yield()
		if err := receive(t, led); err != nil {
			t.Error(err)
		}
	}
	one, at, err := a.Query(within, []byte(`{"get":"count"}`))
	other, there, wrong := b.Query(within, []byte(`{"get":"count"}`))
	if err != nil || wrong != nil || at != there || string(one) != string(other) {
		t.Errorf("one has %s at %+v, %v, and the other %s at %+v, %v", one, at, err, other, there, wrong)
	}
	for _, stop := range []func() error{stopA, stopB} {
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if _, err := a.Goal(within, "late", add, 0); !errors.Is(err, pgstore.ErrStopped) {
		t.Errorf("a goal after the end: %v", err)
	}
	if _, _, err := a.Query(within, []byte(`{"get":"count"}`)); !errors.Is(err, pgstore.ErrStopped) {
		t.Errorf("a query after the end: %v", err)
	}
	if err := a.Run(within); err == nil {
		t.Error("a member runs twice")
	}
}

// A goal of a node that does not lead waits; nobody can say what becomes of it when its asker has gone. What is asked for wrongly is refused.
func TestAGoalThatNobodyExecutes(t *testing.T) {
	t.Parallel()
	d := created(t, pgtest.New(t).Config())
	m, stop := joins(t, d, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 3*often)
	defer cancel()
	if _, err := m.Goal(ctx, "a", []byte(`{"op":"add","key":"count"}`), 0); !errors.Is(err, txlog.ErrUnknown) {
		t.Error(err)
	}
	if _, err := m.Goal(t.Context(), "", nil, 0); !errors.Is(err, txlog.ErrMalformed) {
		t.Error(err)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := d.Member(t.Context(), pgstore.Config{Self: "a", Log: txlog.ID{9}, New: kv.New}); !errors.Is(err, pgstore.ErrScope) {
		t.Errorf("a log that is not there: %v", err)
	}
	child := genesis
	child.Parent, child.State = txlog.Position{Log: genesis.ID(), Index: 7, Term: 1, Hash: txlog.Hash{1}}, txlog.Hash{2}
	if err := d.Create(t.Context(), child, scope); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Member(t.Context(), pgstore.Config{Self: "a", Log: child.ID(), New: kv.New}); err == nil {
		t.Error("a log that goes on with another one begins without its state")
	}
	if _, err := d.Member(t.Context(), pgstore.Config{Poll: -1}); err == nil || len(err.(interface{ Unwrap() []error }).Unwrap()) != 4 {
		t.Errorf("four faults are %v", err)
	}
}
