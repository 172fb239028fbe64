//go:build unix

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/internal/runtest"
)

// A service with a list of invoices pays each exactly once, to the wei, although leaders are killed all the time, one of
// two endpoints is as bad as providers are, and the service itself is killed while it sends and while it follows. The
// chain's blocks and balances say so, and the service says the same. (S4, S15, S20)
func TestInvoices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a node")
	}
	seed := rand.Uint64()
	if text := os.Getenv("CONCH_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("CONCH_SEED=%d go test -race -run %s ./cmd/conch", seed, t.Name())
	random := rand.New(rand.NewPCG(seed, 0))
	many := 40
	if runtest.Whole() {
		many = 1000
	}
	// Some forty payments fill a block, so that the fees rise and the payments take a while.
	db, chain := migrated(t), startDevnode(t, "--block-time", "500ms", "--gas-limit", "1000000")
	profiles := evmtest.Profiles(runtest.Nightly())
	worst := profiles[slices.IndexFunc(profiles, func(p evmtest.Profile) bool { return p.Name == "worst" })]
	provider := evmtest.Start(t, evmtest.NodeAt(t, chain.url), worst)
	invoices, list := drawInvoices(random, many)
	before := quantity(t, chain.call("eth_getBalance", fundedAddress, "latest"))
	o := newOffice(t, db.URL, chain, provider)
	books, killed := openBooks(t, db.URL), 0
	for _, which := range []string{`true`, `fate = 'done'`} {
		some, service := 1+random.IntN(many), o.pays(list)
		o.killedAt(service, random, func() bool {
			return books.number(`SELECT count(*) FROM conch.intents WHERE `+which) >= some
		})
		if service.Wait(patience) == -1 {
			killed++
		}
		t.Logf("at %d intents with %s the service has said %s%s", some, which, &service.out, &service.log)
	}
	last := o.pays(list)
	o.killedAt(last, random, func() bool { return false })
	t.Logf("in the end the service has said %s%s", &last.out, &last.log)
	judge(t, chain, db.URL, nil)
	spent := invoices.judge(t, chain, before)
	for id, n := range o.nodes {
		if n.count("ALARM") > 0 {
			t.Errorf("%s has raised an alarm, want none: nothing here needs a person", id)
		}
	}
	code, want := last.Wait(patience), fmt.Sprintf("paid %d of %d invoices, %v of %v wei\n", many, many, spent, spent)
	if code != 0 || !strings.HasSuffix(last.out.String(), want) {
		t.Errorf("the service ends with exit code %d and says %s, want 0 and %s", code, &last.out, want)
	}
	if o.kills == 0 || killed == 0 || provider.Strikes() == 0 || provider.Refused() == 0 {
		t.Errorf("%d leaders and %d services were killed, the provider changed %d answers and refused %d calls: want more of each, or the test shows nothing",
			o.kills, killed, provider.Strikes(), provider.Refused())
	}
	t.Logf("%d leaders and %d services killed; the provider changed %d answers, refused %d calls of %v",
		o.kills, killed, provider.Strikes(), provider.Refused(), provider.Calls())
}
