package transactions

import (
	"context"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/pending"
)

// Life is the third of the account.
func (f *fakeStore) Life(ctx context.Context, _ chain.Account) (pending.Life, error) {
	return pending.Life{Number: 2, First: 40, Since: 900, Over: f.over}, f.ready(ctx)
}

// SayOver knows of no other life.
func (f *fakeStore) SayOver(ctx context.Context, _ chain.Account, number uint64) error {
	if number != 2 {
		return pending.ErrNoLife
	}
	f.over = true
	return f.ready(ctx)
}

// Z7: how often an account has begun anew, and a person's word that its life is over.
var lifeAnswers = []exchange{
	{Name: "a life", Ask: "GET " + toLife, Status: 200, Want: `{"account":"payer","life":2,"since_block":900,"over":false}`},
	{Name: "a life of an unknown account", Ask: "GET /v1/accounts/nobody/life", Status: 404, Want: "unknown-account"},
	{Name: "a life where there is one only", Given: func(w *world) { w.immortal = true }, Ask: "GET " + toLife, Status: 409, Want: "no-lives"},
	{Name: "a life, no database", Given: databaseAway, Ask: "GET " + toLife, Status: 503, Want: "database-unavailable"},
	{Name: "a life, the database hangs", Given: databaseHangs, Ask: "GET " + toLife, Status: 504},
	{Name: "it is over", Ask: "POST " + toLife, Body: `{"over":2}`, Status: 200, Want: `{"account":"payer","life":2,"since_block":900,"over":true}`},
	{Name: "another one is over", Ask: "POST " + toLife, Body: `{"over":1}`, Status: 409, Want: "another-life"},
	{Name: "which one is over", Ask: "POST " + toLife, Body: `{}`, Status: 422, Want: `"field":"over"`},
	{Name: "that of nobody is over", Ask: "POST /v1/accounts/nobody/life", Body: `{"over":2}`, Status: 404, Want: "unknown-account"},
	{Name: "the only one is over", Given: func(w *world) { w.immortal = true }, Ask: "POST " + toLife, Body: `{"over":0}`, Status: 409, Want: "no-lives"},
	{Name: "others' word is not taken", Given: limited(small, nil), Ask: "POST " + toLife, Body: `{"over":2}`, Header: byOps, Status: 403, Want: "read_others"},
	{Name: "it is over, no database", Given: databaseAway, Ask: "POST " + toLife, Body: `{"over":2}`, Status: 503, Want: "database-unavailable"},
	{Name: "it is over, the database hangs", Given: databaseHangs, Ask: "POST " + toLife, Body: `{"over":2}`, Status: 504},
}

const toLife = "/v1/accounts/payer/life"

// Z6: a doctor finds a key that others have too, where an account can cease to exist, before a node refuses to send with it.
func TestADoctorFindsASharedKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lives, shared bool }{{true, true}, {true, false}, {false, true}} {
		one := paying{Account: Account{Name: "payer", Chain: Chain{Name: "living"}, SharedKey: c.shared}, balance: big.NewInt(1), lives: c.lives}
		refused := slices.ContainsFunc(judge(config.Config{}, nil, []paying{one}), func(f doctor.Finding) bool {
			return f.Check == "keys" && f.Status == doctor.Fail && strings.Contains(f.Detail+f.Remedy, "shared_key") && strings.Contains(f.Detail, "payer")
		})
		if want := c.lives && c.shared; refused != want {
			t.Errorf("lives %t, shared_key %t: a failure %t, want %t", c.lives, c.shared, refused, want)
		}
	}
}
