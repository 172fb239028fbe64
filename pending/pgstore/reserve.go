package pgstore

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Reservation is what an intent takes from the limits of a policy. The zero Reservation takes nothing, and stands for no policy.
type Reservation struct {
	Token string // whose policy it is
	// Version is that of the policy by which the intent was judged. 0: it was refused, so that it is accepted only if its key is known.
	Version int64
	Takes   []Take
}

// Take is an amount of what a policy limits: [OfCount] in a minute, or in a day [OfValue], [OfFee] or an ERC-20 contract's own unit, by the
// contract's address.
type Take struct {
	What   string
	Amount *big.Int
}

// What is limited besides ERC-20 contracts.
const (
	OfCount = "count" // intents
	OfValue = "value" // of calls, in the chain's smallest unit
	OfFee   = "fee"   // the most that they may cost, likewise
)

// ErrPolicyChanged means that the policy is another one than that by which the intent was judged, or that there is none.
var ErrPolicyChanged = errors.New("the policy has changed since the intent was judged by it")

// LimitError says that an intent would exceed a limit of its policy. Nothing was stored.
type LimitError struct {
	What  string    // as in [Take]
	Most  *big.Int  // the limit
	Spent *big.Int  // what was taken from it in this day or minute
	At    time.Time // when that was so, by the database's clock
	Again time.Time // when the limit is whole again; zero: the intent needs more than that
	Batch *big.Int  // what all of a batch needs that is new; nil: it was no batch
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit of %s is %v, of which %v is spent", e.What, e.Most, e.Spent)
}

// takes has the reservations of a batch, and what they take.
type takes struct {
	ids          []pgtype.UUID
	accounts     [][]byte
	keys, tokens []string
	versions     []int64

	owners  []int32 // in ids, counted from 1
	whats   []string
	amounts []pgtype.Numeric
}

// newTakes returns nil if no intent of a batch has a reservation.
func newTakes(batch []*request) *takes {
	t := &takes{owners: []int32{}, whats: []string{}, amounts: []pgtype.Numeric{}}
	for _, r := range batch {
		if r.take.Token == "" {
			continue
		}
		t.ids = append(t.ids, uuid(&r.in.ID))
		t.accounts = append(t.accounts, []byte(r.in.Account))
		t.keys = append(t.keys, r.in.Key)
		t.tokens = append(t.tokens, r.take.Token)
		t.versions = append(t.versions, r.take.Version)
		for _, one := range r.take.Takes {
			t.owners = append(t.owners, int32(len(t.ids)))
			t.whats = append(t.whats, one.What)
			t.amounts = append(t.amounts, numeric(one.Amount))
		}
	}
	if len(t.ids) == 0 {
		return nil
	}
	return t
}

func (t *takes) columns() []any {
	return []any{t.ids, t.accounts, t.keys, t.tokens, t.versions, t.owners, t.whats, t.amounts}
}

// The parts of insertIntents that reserve. What the intents take is taken before any is stored, so that a batch which waits for another
// one's key holds no row that the other one needs; the database refuses the whole if what was taken and what is stored then differ.
var (
	reserving = `
	judged AS MATERIALIZED (SELECT * FROM conch.pending_reserve($1, $16::uuid[], $17::bytea[], $18::text[], $19::text[], $20::bigint[], $21::int[], $22::text[], $23::numeric[])),`
	reserved = `
		   AND NOT EXISTS (SELECT FROM judged j WHERE j.id = a.id AND j.verdict <> 'granted')`
	noVerdict   = `'' AS verdict, '' AS what, NULL::numeric AS most, NULL::numeric AS spent, NULL::timestamptz AS at, NULL::timestamptz AS again, `
	verdictRows = `
	 UNION ALL
	SELECT NULL::uuid, j.verdict, j.what, j.most, j.spent, j.at, j.again, ` + barely("j.id", "j.at") + ` FROM judged j
	 WHERE j.verdict <> 'granted' AND (SELECT conch.pending_kept((SELECT count(*) FROM judged g WHERE g.verdict = 'granted'),
	                                 (SELECT count(*) FROM fresh f JOIN pg_catalog.unnest($16::uuid[]) g(id) ON g.id = f.id)))`
)

// verdict is what the database says of an intent with a reservation that is not granted.
type verdict struct {
	word        string // over, known or changed; empty: the row is an intent
	what        string
	most, spent pgtype.Numeric
	at, again   *time.Time
}

func (v *verdict) columns() []any {
	return []any{&v.word, &v.what, &v.most, &v.spent, &v.at, &v.again}
}

// refusal returns why an intent that was not stored is refused, nil if its key is known.
func (v *verdict) refusal() error {
	switch v.word {
	case "over":
		e := &LimitError{What: v.what, Most: integer(v.most), Spent: integer(v.spent), At: *v.at}
		if v.again != nil {
			e.Again = *v.again
		}
		return e
	case "changed":
		return ErrPolicyChanged
	}
	return nil
}
