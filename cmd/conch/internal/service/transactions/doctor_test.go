package transactions

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
)

func TestFindings(t *testing.T) {
	t.Parallel()
	account := func(p paying) []paying { return []paying{p} }
	for _, c := range []struct {
		name     string
		chains   []endpoint
		accounts []paying
		check    string
		status   doctor.Status
		says     string // of detail and remedy
	}{
		{"a chain that does not answer", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no answer"}}, nil, "chains", doctor.Fail, "no answer"},
		{"another chain", []endpoint{{Chain: Chain{Name: "dev"}, fault: "has chain ID 5", other: true}}, nil, "chains", doctor.Fail, "chain_id"},
		{"a chain of unknown finality", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no tag", vague: true}}, nil, "chains", doctor.Fail, "set finality"},
		{"a legacy chain", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no base fee", unsupported: true}}, nil, "chains", doctor.Fail, "take the chain"},
		{"one of two endpoints", []endpoint{{Chain: Chain{Name: "dev"}}, {Chain: Chain{Name: "dev"}, fault: "no answer"}}, nil, "chains", doctor.Warn, "the others are used"},
		{"two of two endpoints", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no answer"}, {Chain: Chain{Name: "dev"}, fault: "no answer"}}, nil, "chains", doctor.Fail, "does not answer"},
		{"chains that answer", []endpoint{{Chain: Chain{Name: "dev"}}}, nil, "chains", doctor.OK, "1 chain answers"},
		{"a key that does not open", nil, account(paying{Account: Account{Name: "payer"}, fault: "wrong password"}), "keys", doctor.Fail, "wrong password"},
		{"no funds", nil, account(paying{Account: Account{Name: "payer", Address: "\x6d"}, balance: new(big.Int)}), "funds", doctor.Warn, "0x6d, has nothing"},
		{"an unknown balance", nil, account(paying{Account: Account{Name: "payer"}}), "funds", doctor.OK, ""},
		{"another scope", nil, account(paying{Account: Account{Name: "payer", Scope: "mine"}, claimed: "theirs"}), "claims", doctor.Fail, "theirs"},
		{"no scope yet", nil, account(paying{Account: Account{Name: "payer", Scope: "mine"}}), "claims", doctor.OK, ""},
	} {
		found := judge(config.Config{}, c.chains, c.accounts)
		at := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Check == c.check })
		if at < 0 || found[at].Status != c.status || !strings.Contains(found[at].Detail+" "+found[at].Remedy, c.says) || (found[at].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want %v for %q, saying %q", c.name, found, c.status, c.check, c.says)
		}
	}
	if found := judge(config.Config{Node: config.Node{Standalone: true}}, nil, account(paying{})); slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Check == "claims" }) {
		t.Errorf("in standalone mode: got %+v, want no finding about claims", found)
	}
}

// What is not configured is not spoken of.
func TestNothingToCheck(t *testing.T) {
	t.Parallel()
	if found := judge(config.Config{}, nil, nil); len(found) > 0 {
		t.Errorf("without a chain and an account: got %+v, want no finding", found)
	}
	one := []endpoint{{Chain: Chain{Name: "dev"}}}
	if found := judge(config.Config{}, one, nil); len(found) != 1 || found[0].Check != "chains" {
		t.Errorf("without an account: got %+v, want chains alone", found)
	}
}
