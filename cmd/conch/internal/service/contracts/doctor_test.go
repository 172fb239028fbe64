package contracts

import (
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
		agreements []agreement
		status     doctor.Status
		says       []string // of detail and remedy
	}{
		{"all is well", well(func(*agreement) {}), doctor.OK, []string{"0xc0", "head 9, final 7"}},
		{"an account that cannot sign", well(func(a *agreement) { a.account = "external" }), doctor.Fail, []string{"external", "contracts.account"}},
		{"no account at all", []agreement{{Agreed: Agreed{Address: "0xc0"}, account: "no [[accounts]]"}}, doctor.Fail, []string{"no [[accounts]]"}},
		{"a chain that is away", well(func(a *agreement) { a.away = "refused" }), doctor.Fail, []string{"refused", "url"}},
		{"nothing at the address", well(func(a *agreement) { a.there, a.other = ledger.Contract{}, "there is none" }), doctor.Fail, []string{"there is none", "address"}},
		{"other code", well(func(a *agreement) { a.other = "the code differs" }), doctor.Fail, []string{"the code differs", "do not use it"}},
		{"no majority", well(func(a *agreement) { a.here.Needed, a.there.Needed = 1, 1 }), doctor.Warn, []string{"no majority", "more than half"}},
		{"another chain", differs(func(c *ledger.Contract) { c.Chain = 2 }), doctor.Fail, []string{"chain_id: the file says 1, and the contract 2"}},
		{"other members", differs(func(c *ledger.Contract) { c.Members = []ledger.Account{"b", "a", "c"} }), doctor.Fail, []string{"members or accounts"}},
		{"another committee", differs(func(c *ledger.Contract) { c.Committee = c.Members }), doctor.Fail, []string{"committee"}},
		{"another endorsement", differs(func(c *ledger.Contract) { c.Needed = 3 }), doctor.Fail, []string{"endorsement: the file says 2, and the contract 3"}},
		{"another range", differs(func(c *ledger.Contract) { c.Range = 7 }), doctor.Fail, []string{"range_size"}},
		{"another depth", differs(func(c *ledger.Contract) { c.Depth = 7 }), doctor.Fail, []string{"depth"}},
		{"another life", differs(func(c *ledger.Contract) { c.Life = 7 }), doctor.Fail, []string{"life"}},
		{"another policy", differs(func(c *ledger.Contract) { c.Policy = "ring" }), doctor.Fail, []string{"policy: the file says rendezvous, and the contract ring"}},
		{"another issuer", differs(func(c *ledger.Contract) { c.Domain = "notes/1 issued by 0x62" }), doctor.Fail, []string{"domain or issuer"}},
	} {
		found := judge(c.agreements)
		at := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Check == checkShared })
		if at < 0 || found[at].Status != c.status || (found[at].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want %v for %q", c.name, found, c.status, checkShared)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(found[at].Detail+" "+found[at].Remedy, part) {
				t.Errorf("%s: got %+v, want %q in it", c.name, found[at], part)
			}
		}
		if n := len(slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Check != checkShared })); n != 1 {
			t.Errorf("%s: got %d findings, want one", c.name, n)
		}
	}
}
