package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// raw is a table with the same bytes as an intent, or as a grant with its contents, and one key.
const raw = `
	CREATE TABLE public.raw (contract text, id bytea, a bytea, b bytea, n bigint, PRIMARY KEY (contract, id))`

const rawInsert = `INSERT INTO public.raw SELECT $1, n.* FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[]) AS n`

// A write of 1, 50 or 500 intents, or grants with contents of 500 bytes, beside a plain insert of as many rows with the
// same bytes, each in one commit that waits for the disk. They take turns, so that both meet the same machine.
func BenchmarkWrite(b *testing.B) {
	server := pgtest.Own(b, postmaster.Config{Fsync: true})
	for _, what := range []string{"intents", "grants"} {
		for _, n := range []int{1, 50, 500} {
			b.Run(fmt.Sprintf("%s-%d", what, n), func(b *testing.B) { race(b, server, what == "grants", n) })
		}
	}
}

func race(b *testing.B, server *postmaster.Server, granted bool, n int) {
	b.Helper()
	admin := pgtest.Connect(b, pg.Config{URL: server.URL("postgres")})
	run(b, admin, `DROP DATABASE IF EXISTS bench WITH (FORCE)`)
	run(b, admin, `CREATE DATABASE bench`)
	cfg := pg.Config{URL: server.URL("bench")}
	plain := pgtest.Connect(b, cfg)
	if err := made(b.Context(), plain); err != nil {
		b.Fatal(err)
	}
	run(b, plain, raw)
	d := opened(b, cfg)
	s := begin(b, d, 1)
	next := 0
	var ours, theirs time.Duration
	round := func() {
		owner, args := drawRows(granted, next, n)
		next += n
		began := time.Now()
		write(b, s, core.Change{Contract: "0x90f8bf6a479f320ead074411a4b0e7944ea8c9c1", Sender: owner})
		ours += time.Since(began)
		began = time.Now()
		if _, err := plain.Exec(b.Context(), rawInsert, args...); err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(began)
	}
	for range 10 { // statements are planned, tables are warm
		round()
	}
	run(b, plain, `CHECKPOINT`)
	ours, theirs = 0, 0
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/write")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N), "µs/insert")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

func drawRows(granted bool, first, n int) (owner *sender.Store, args []any) {
	owner = &sender.Store{}
	var ids, as, bs [][]byte
	var numbers []int64
	for i := first; i < first+n; i++ {
		in := ledger.Intent{Owner: "0123456789abcdef0123", Sequence: number(uint64(i))}
		id := in.Sequence.Bytes()
		ids, numbers = append(ids, id[:]), append(numbers, int64(i))
		if !granted {
			row := sender.IntentRow{Sequence: in.Sequence, Key: fmt.Sprint("payment ", i), Payload: make([]byte, 200)}
			owner.Intents = append(owner.Intents, row)
			as, bs = append(as, []byte(row.Key)), append(bs, row.Payload)
			continue
		}
		whole := wire.Whole{Attempt: ledger.Attempt{Intent: in, Data: make([]byte, 200)}, Payload: make([]byte, 200)}
		contents, _ := wire.EncodeWhole(whole) // it is one that can be encoded
		owner.Grants = append(owner.Grants, sender.GrantRow{
			Given: grants.Given{Intent: in, Assembled: hashed(i), ValidUntil: 9, Needs: make([]grants.Need, 2)}, To: in.Owner,
			Grant: ledger.Grant{Assembled: hashed(i), Coordinator: in.Owner, ValidUntil: 9}, Whole: whole,
		})
		as, bs = append(as, contents), append(bs, make([]byte, 32+32+20+20+16+8+2*81)) // hashes, accounts, the request, the needs
	}
	return owner, []any{"0x90f8bf6a479f320ead074411a4b0e7944ea8c9c1", ids, as, bs, numbers}
}
