package pgstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/storetest"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// standIn replaces the election's fence, whose schema this wing must not know: a mint raises the epoch, and waits for the
// transactions of the one before. The tests of the binary use the real one.
const standIn = `
	CREATE TABLE public.minted (epoch bigint);
	INSERT INTO public.minted VALUES (1);
	CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
	    PERFORM pg_advisory_xact_lock_shared(1);
	    IF epoch <> (SELECT m.epoch FROM public.minted m) THEN
	        RAISE EXCEPTION USING ERRCODE = 'CN001', MESSAGE = 'stale';
	    END IF;
	END $$;
	CREATE FUNCTION public.mint(new bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
	    PERFORM pg_advisory_xact_lock(1);
	    UPDATE public.minted SET epoch = new;
	END $$`

func TestMain(m *testing.M) {
	pgtest.Template(made)
	pgtest.Main(m)
}

// made creates the tables in a database.
func made(ctx context.Context, conn *pgx.Conn) error {
	if err := pgstore.Tables.Up(ctx, conn, nil); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, standIn)
	return err
}

// patience is for a busy machine.
const patience = 30 * time.Second

func token(epoch int64) fence.Token {
	return fence.Token{Scope: "sequencer:me", Epoch: epoch, Holder: "me", Term: fence.Term{byte(epoch)}}
}

// opened returns a Database that is closed when the test ends.
func opened(t testing.TB, cfg pg.Config) *pgstore.Database {
	t.Helper()
	d, err := pgstore.Open(t.Context(), cfg, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// begin starts a node under an epoch.
func begin(t testing.TB, d *pgstore.Database, epoch int64) *pgstore.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := d.Begin(ctx, token(epoch))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func memory() sequencer.Store { return sequencertest.NewMemory() }

// P28, P41: the store over Postgres keeps what every store promises.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, memory, func(t *testing.T) sequencer.Store { return begin(t, opened(t, pgtest.New(t).Config()), 1) })
}

// The suite behind a pooler that changes the backend after each transaction.
func TestStoreBehindPgBouncer(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, memory, func(t *testing.T) sequencer.Store {
		db := pgtest.New(t)
		bouncer := db.PgBouncer(t, pgtest.TransactionMode, "server_round_robin = 1")
		return begin(t, opened(t, pg.Config{URL: bouncer.URL(db.Name)}), 1)
	})
}

// P38, P39: what a grant needs and who has endorsed come back as they were, of any length. Bytes that end too early are
// refused: a start that read fewer needs would take a grant for dead that is not.
func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var needs []grants.Need
		var all []ledger.Endorsement
		for range chance.IntN(4) {
			needs = append(needs, grants.Need{
				State: ledger.StateID{byte(chance.Uint64())}, Assembled: ledger.Hash{31: byte(chance.Uint64())},
				Creator: ledger.Intent{Owner: ledger.Account(make([]byte, chance.IntN(200))), Sequence: ledger.Sequence{Lineage: chance.Uint64(), Counter: chance.Uint64()}},
			})
			e := ledger.Endorsement{Member: chance.IntN(1000)}
			if length := chance.IntN(3) * 100; length > 0 {
				e.Signature = make([]byte, length)
			}
			all = append(all, e)
		}
		a, b := pgstore.Pack(needs, all)
		gotNeeds, gotAll, err := pgstore.Unpack(a, b)
		if err != nil || !reflect.DeepEqual(gotNeeds, needs) || !reflect.DeepEqual(gotAll, all) {
			t.Fatalf("%+v and %+v are read as %+v and %+v, %v", needs, all, gotNeeds, gotAll, err)
		}
		for cut := range a {
			if got, _, err := pgstore.Unpack(a[:cut], nil); err == nil && len(got) == len(needs) {
				t.Fatalf("%d of %d bytes are read as all %d needs", cut, len(a), len(got))
			}
		}
		for cut := range b {
			if _, got, err := pgstore.Unpack(nil, b[:cut]); err == nil && len(got) == len(all) {
				t.Fatalf("%d of %d bytes are read as all %d endorsements", cut, len(b), len(got))
			}
		}
	}
}

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
