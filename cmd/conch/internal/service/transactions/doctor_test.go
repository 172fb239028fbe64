package transactions

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
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
		{"no chain", nil, nil, "chains", doctor.OK, "none checked"},
		{"no account", nil, nil, "keys", doctor.OK, "none checked"},
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
	if found := judge(config.Config{Node: config.Node{Standalone: true}}, nil, nil); slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Check == "claims" }) {
		t.Errorf("in standalone mode: got %+v, want no finding about claims", found)
	}
}

// What has nothing to check says why: the file that was named has none, or no file was named.
func TestNothingToCheck(t *testing.T) {
	t.Parallel()
	file, _ := configtest.Load(t, "", config.Source{}, nil)
	for _, f := range judge(config.Config{}, nil, nil) {
		if f.Status != doctor.OK || !strings.Contains(f.Detail, "--config names a file") {
			t.Errorf("without a file: got %+v", f)
		}
	}
	tables := map[string]string{"chains": "[[chains]]", "keys": "[[accounts]]", "funds": "[[accounts]]", "claims": "[[accounts]]"}
	for _, f := range judge(file, nil, nil) {
		if f.Status != doctor.OK || f.Detail != "none: the file has no "+tables[f.Check] {
			t.Errorf("with a file: got %+v", f)
		}
	}
}
