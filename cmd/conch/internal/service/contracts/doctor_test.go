package contracts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Bad input: what differs between an organisation's file and the world is named.
func TestFindings(t *testing.T) {
	t.Parallel()
	good := ledger.Contract{Chain: 1, Address: "0xc0", Members: []ledger.Account{"a", "b", "c"}, Committee: []ledger.Account{"a", "b"}, Needed: 2, Range: 100, Depth: 2, Life: 50, Domain: "notes/1 issued by 0x61"}
	well := func(change func(*agreement)) []agreement {
		a := agreement{Agreed: Agreed{Address: "0xc0"}, here: good, there: good, head: 9, final: 7}
		change(&a)
		return []agreement{a}
	}
	differs := func(change func(*ledger.Contract)) []agreement {
		return well(func(a *agreement) { change(&a.there); a.other = "another one" })
	}
	for _, c := range []struct {
		name       string
		identity   error
		partners   []partner
		agreements []agreement
		check      string
		status     doctor.Status
		says       []string // of detail and remedy
	}{
		{"no contract", nil, nil, nil, checkShared, doctor.OK, []string{"none checked"}},
		{"all is well", nil, nil, well(func(*agreement) {}), checkShared, doctor.OK, []string{"0xc0", "head 9, final 7"}},
		{"an identity", nil, nil, well(func(*agreement) {}), checkSelf, doctor.OK, []string{"prove"}},
		{"no identity", errors.New("there is no key"), nil, well(func(*agreement) {}), checkSelf, doctor.Fail, []string{"there is no key", "identity.key"}},
		{"peers", nil, []partner{{name: "north"}, {name: "east"}}, well(func(*agreement) {}), checkPeers, doctor.OK, []string{"2 peers answer"}},
		{"a peer that is away", nil, []partner{{name: "north", away: "refused"}}, well(func(*agreement) {}), checkPeers, doctor.Warn, []string{`"north" does not answer: refused`, "url"}},
		{"a peer with another key", nil, []partner{{name: "north", away: "x", foreign: "the key is sha256:1"}}, well(func(*agreement) {}), checkPeers, doctor.Fail, []string{`"north": the key is sha256:1`, "conch identity show"}},
		{"an account that cannot sign", nil, nil, well(func(a *agreement) { a.account = "external" }), checkShared, doctor.Fail, []string{"external", "contracts.account"}},
		{"no account at all", nil, nil, []agreement{{Agreed: Agreed{Address: "0xc0"}, account: "no [[accounts]]"}}, checkShared, doctor.Fail, []string{"no [[accounts]]"}},
		{"a chain that is away", nil, nil, well(func(a *agreement) { a.away = "refused" }), checkShared, doctor.Fail, []string{"refused", "url"}},
		{"nothing at the address", nil, nil, well(func(a *agreement) { a.there, a.other = ledger.Contract{}, "there is none" }), checkShared, doctor.Fail, []string{"there is none", "address"}},
		{"other code", nil, nil, well(func(a *agreement) { a.other = "the code differs" }), checkShared, doctor.Fail, []string{"the code differs", "do not use it"}},
		{"no majority", nil, nil, well(func(a *agreement) { a.here.Needed, a.there.Needed = 1, 1 }), checkShared, doctor.Warn, []string{"no majority", "more than half"}},
		{"another chain", nil, nil, differs(func(c *ledger.Contract) { c.Chain = 2 }), checkShared, doctor.Fail, []string{"chain_id: the file says 1, and the contract 2"}},
		{"other members", nil, nil, differs(func(c *ledger.Contract) { c.Members = []ledger.Account{"b", "a", "c"} }), checkShared, doctor.Fail, []string{"members or accounts"}},
		{"another committee", nil, nil, differs(func(c *ledger.Contract) { c.Committee = c.Members }), checkShared, doctor.Fail, []string{"committee"}},
		{"another endorsement", nil, nil, differs(func(c *ledger.Contract) { c.Needed = 3 }), checkShared, doctor.Fail, []string{"endorsement: the file says 2, and the contract 3"}},
		{"another range", nil, nil, differs(func(c *ledger.Contract) { c.Range = 7 }), checkShared, doctor.Fail, []string{"range_size"}},
		{"another depth", nil, nil, differs(func(c *ledger.Contract) { c.Depth = 7 }), checkShared, doctor.Fail, []string{"depth"}},
		{"another life", nil, nil, differs(func(c *ledger.Contract) { c.Life = 7 }), checkShared, doctor.Fail, []string{"life"}},
		{"another policy", nil, nil, differs(func(c *ledger.Contract) { c.Policy = "ring" }), checkShared, doctor.Fail, []string{"policy: the file says rendezvous, and the contract ring"}},
		{"another issuer", nil, nil, differs(func(c *ledger.Contract) { c.Domain = "notes/1 issued by 0x62" }), checkShared, doctor.Fail, []string{"domain or issuer"}},
	} {
		found := judge(c.identity, c.partners, c.agreements)
		at := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Check == c.check })
		if at < 0 || found[at].Status != c.status || (found[at].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want %v for %q", c.name, found, c.status, c.check)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(found[at].Detail+" "+found[at].Remedy, part) {
				t.Errorf("%s: got %+v, want %q in it", c.name, found[at], part)
			}
		}
		if n := len(slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Check != c.check })); n != 1 {
			t.Errorf("%s: got %d findings, want one", c.name, n)
		}
	}
}
