package contracts

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
)

// offered is the work of a role that keeps an account.
type offered struct {
	node.Account
	signs bool
}

// Offered implements node.Offers.
func (o offered) Offered() (node.Account, bool) { return o.Account, o.signs }

// The account of a contract has to be the member's, and to sign hashes.
func TestAccountsOfContracts(t *testing.T) {
	t.Parallel()
	own, foreign := chain.Account(strings.Repeat("\x00", 19)+"\xb1"), chain.Account(strings.Repeat("\x00", 19)+"\xb2")
	for _, c := range []struct {
		name, of string
		does     offered
		says     string
	}{
		{"the member's", "ops", offered{node.Account{Address: own}, true}, ""},
		{"another member's", "ops", offered{node.Account{Address: foreign}, true}, "correct one of them"},
		{"in an external signer", "ops", offered{node.Account{Address: own}, false}, "external signer"},
		{"of another name", "payer", offered{node.Account{Address: own}, true}, `no [[accounts]] has that name: "ops"`},
	} {
		accounts := func() config.Section {
			return configtest.Plain("accounts", config.Role{Name: c.of, Scope: "pending:" + c.of, Fenced: true, Does: c.does})
		}
		cfg, err := configtest.Load(t, whole, config.Source{Sections: configtest.Beside(accounts, peers.Kind().Section, Kind().Section)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = accountFault(cfg, "bank", config.Of[*Section](cfg).contracts[0])
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
