package pgstore_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// P38: the answer of a commit is lost. The write may be repeated, and changes nothing the second time.
func TestTheAnswerOfACommitIsLost(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	proxy, url := db.Proxy(t)
	s := begin(t, opened(t, pg.Config{URL: url}), 1)
	write(t, s, submitted(1, "a")) // there is a connection
	changes := []core.Change{submitted(2, "b"), submitted(3, "a")}
	proxy.Blackhole(tcpproxy.ToClient)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Write(t.Context(), changes)
		ended <- err
	}()
	conn := db.Connect(t)
	pgtest.Eventually(t, patience, "the write is committed", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM conch.sequencer_intents`).Scan(&n)
		return err == nil && n == 2
	})
	proxy.Reset()
	if err := receive(t, ended); err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, pgstore.ErrLate) {
		t.Errorf("without an answer: %v, want an error that says nothing of the outcome", err)
	}
	proxy.Heal()
	before := load(t, s)
	twice, err := s.Write(t.Context(), changes)
	if want := []core.Twice{{Contract: "k", Sequence: number(3)}}; err != nil || !reflect.DeepEqual(twice, want) {
		t.Errorf("the second time: twice %v, error %v; want %v", twice, err, want)
	}
	if after := load(t, s); !reflect.DeepEqual(after, before) {
		t.Errorf("the second time has changed %+v to %+v", before, after)
	}
}

// A commit for which the server has stopped waiting for its standby is on this server alone: neither success nor failure,
// and so is its repetition, although the rows can be read, until a commit is confirmed.
func TestAnUnconfirmedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	l := pgtest.NewLonely(t, made)
	d := opened(t, l.Config)
	s := begin(t, d, 1)
	l.EndsWaits()
	l.Waits("nobody")
	store := func() error { _, err := s.Write(t.Context(), []core.Change{submitted(1, "a")}); return err }
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"a write", store}, {"its repetition", store},
		{"a start", func() error { _, err := d.Begin(t.Context(), token(1)); return err }},
	} {
		var unknown *pg.UnconfirmedError
		if err := c.do(); !errors.As(err, &unknown) {
			t.Errorf("%s: %v, want an UnconfirmedError", c.what, err)
		}
	}
	l.Waits("")
	s = begin(t, d, 1)
	write(t, s, submitted(1, "a"))
	if got := counters(load(t, s)); !reflect.DeepEqual(got, []uint64{1}) {
		t.Errorf("loaded %v, want the intent once", got)
	}
}
