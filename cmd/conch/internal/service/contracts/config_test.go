package contracts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	db       = "[database]\nurl = \"postgres://app_node@db/app\"\n"
	identity = "[identity]\nname = \"bank\"\nlisten = \"0.0.0.0:7443\"\nkey = \"identity.pem\"\n"
	north    = "[[peers]]\nname = \"north\"\nurl = \"https://north.example:7443\"\nkey = \"sha256:00\"\n"
	east     = "[[peers]]\nname = \"east\"\nurl = \"https://east.example:7443\"\nca = \"ca.pem\"\n"
	// agreed begins at line 15 of a file after the others.
	agreed = `[[contracts]]
address = "0xAC1D8F982ACDFA9B94D224242426775274691FE3"
account = "ops"
members = ["bank", "north", "east"]
accounts = { bank = "0x00000000000000000000000000000000000000b1", north = "0x00000000000000000000000000000000000000b2", east = "0x00000000000000000000000000000000000000b3" }
domain = "notes/1"
issuer = "bank"
`
	whole = db + identity + north + east + agreed
)

func load(t *testing.T, text string) (config.Config, error) {
	t.Helper()
	return configtest.Load(t, text, config.Source{Sections: configtest.Beside(peers.Kind().Section, Kind().Section)}, nil)
}

// Each key of [[contracts]], and the role behind the fenced door.
func TestEveryKey(t *testing.T) {
	t.Parallel()
	c, err := load(t, whole+"committee = [\"north\", \"bank\"]\nendorsement = 2\nrange_size = 200\ndepth = 3\nlife = 60\npolicy = \"ring\"\nforget_after = \"48h\"\n")
	if err != nil {
		t.Fatal(err)
	}
	s := config.Of[*Section](c)
	if s.self() != "bank" || len(s.peers.Peers) != 2 || s.peers.Peers[0].Name != "north" {
		t.Errorf("%+v", s.peers)
	}
	a := s.contracts[0]
	d := declaration(a, 7)
	b1, b2 := ledger.Account(strings.Repeat("\x00", 19)+"\xb1"), ledger.Account(strings.Repeat("\x00", 19)+"\xb2")
	switch {
	case a.ForgetAfter != 48*time.Hour:
		t.Errorf("it forgets after %v", a.ForgetAfter)
	case a.Account != "ops" || a.Policy != "ring" || d.Policy != "ring" || d.Address != "0xAc1D8f982aCDFa9b94d224242426775274691fE3" || d.Chain != 7:
		t.Errorf("%+v", a)
	case d.Needed != 2 || d.Range != 200 || d.Depth != 3 || d.Life != 60 || len(d.Members) != 3 || d.Members[0] != b1:
		t.Errorf("%+v", d)
	case !slices.Equal(d.Committee, []ledger.Account{b2, b1}):
		t.Errorf("the committee is %v, want the order of the file", d.Committee)
	case d.Domain != "notes/1 issued by "+b1.String():
		t.Errorf("the domain is %q, want the issuer in it", d.Domain)
	}
	roles := c.Settled()
	if len(roles) != 1 || roles[0].Scope != "sequencer:bank" || !roles[0].Fenced || roles[0].Does != (Organisation{"bank"}) {
		t.Errorf("%+v", roles)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{whole, whole + "endorsement = \"all\"\n"} {
		c, err := load(t, text)
		if err != nil {
			t.Fatal(err)
		}
		d := declaration(config.Of[*Section](c).contracts[0], 1)
		if d.Needed != 3 || d.Range != 100 || d.Depth != 2 || d.Life != 50 || !slices.Equal(d.Committee, d.Members) {
			t.Errorf("%+v", d)
		}
	}
	for text, want := range map[string]time.Duration{whole: 2500 * time.Millisecond, whole + "nudge_after = \"2m\"\n": 2 * time.Minute} {
		c, err := load(t, text)
		if err != nil || config.Of[*Section](c).contracts[0].NudgeAfter != want {
			t.Errorf("error %v, or an empty transaction is not sent after %v", err, want)
		}
	}
	for text, want := range map[string]time.Duration{"": 30 * 24 * time.Hour, "forget_after = \"0s\"\n": -1, "forget_after = \"1h\"\n": time.Hour} {
		c, err := load(t, whole+text)
		if err != nil || config.Of[*Section](c).contracts[0].ForgetAfter != want {
			t.Errorf("%q: want %v (error %v)", text, want, err)
		}
	}
	c, err := load(t, db+"[[roles]]\nname = \"x\"\n"+identity)
	if roles := c.Settled(); err != nil || len(roles) != 1 {
		t.Errorf("without contracts there are the roles %v (%v)", roles, err)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	but := func(old, text string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(whole, old, text, 1)
	}
	for _, c := range []struct {
		name, text string
		says       []string
	}{
		{"an unknown key of a contract", whole + "range = 7\n", []string{"line 22, contracts[0].range", "range_size"}},
		{"standalone", "[node]\nstandalone = true\n" + strings.Replace(whole, db, "", 1), []string{"contracts: a standalone node forgets"}},
		{"no identity", strings.Replace(whole, identity, "", 1), []string{"identity.name: is missing", "identity.key: is missing"}},
		{"one table", db + identity + "[contracts]\naddress = \"0x\"\n", []string{"contracts", "[[contracts]]"}},
		{"no address", but("address = \"0xAC1D8F982ACDFA9B94D224242426775274691FE3\"\n", ""), []string{"contracts[0].address", "conch contract deploy"}},
		{"a short address", but("0xAC1D", "0xAC"), []string{"line 16, contracts[0].address", "is not an address"}},
		{"an address with a wrong checksum", but("0xAC1D", "0xAc1D"), []string{"line 16, contracts[0].address", "with these digits it is 0xAc1D8f982aCDFa9b94d224242426775274691fE3"}},
		{"a member with a wrong checksum", but("00b1\"", "0Ab1\""), []string{"contracts[0].accounts.bank", "with these digits it is 0x"}},
		{"a member by a name", but("0x00000000000000000000000000000000000000b1", "bank.eth"), []string{"contracts[0].accounts.bank", "it is a name"}},
		{"a contract twice", whole + strings.Replace(agreed, "0xAC1D8F982ACDFA9B94D224242426775274691FE3", "0xac1d8f982acdfa9b94d224242426775274691fe3", 1), []string{"line 23, contracts[1].address", "is there twice"}},
		{"no account", but("account = \"ops\"\n", ""), []string{"contracts[0].account: is missing", "[[accounts]]"}},
		{"another policy", whole + "policy = \"turns\"\n", []string{`line 22, contracts[0].policy: "turns" is none of rendezvous, ring`}},
		{"no members", but("members = [\"bank\", \"north\", \"east\"]\n", ""), []string{"contracts[0].members: is missing"}},
		{"an unknown member", but("\"north\", \"east\"]", "\"north\", \"west\"]"), []string{`line 18, contracts[0].members: "west" is neither this node nor one of the [[peers]]`}},
		{"not a member", but("[\"bank\", \"north\", \"east\"]", "[\"north\", \"east\"]"), []string{`contracts[0].members: "bank", this node, is not among them`}},
		{"a member without an account", but("east = \"0x00000000000000000000000000000000000000b3\"", "west = \"0x00000000000000000000000000000000000000b3\""), []string{"contracts[0].accounts.east", "40 hexadecimal digits"}},
		{"an account twice", but("00b3\"", "00b2\""), []string{"contracts[0]", "is twice among its members"}},
		{"accounts as a list", but("accounts = { bank = \"0x00000000000000000000000000000000000000b1\", north = \"0x00000000000000000000000000000000000000b2\", east = \"0x00000000000000000000000000000000000000b3\" }", "accounts = [\"x\"]"), []string{"line 19, contracts[0].accounts: must be a table"}},
		{"a stranger coordinates", whole + "committee = [\"bank\", \"west\"]\n", []string{"contracts[0]", "committee"}},
		{"too many endorsements", whole + "endorsement = 4\n", []string{"contracts[0]", "it needs 4 endorsements of 3 members"}},
		{"no endorsement", whole + "endorsement = 0\n", []string{"line 22, contracts[0].endorsement", `"all"`}},
		{"an endorsement of words", whole + "endorsement = \"most\"\n", []string{"line 22, contracts[0].endorsement"}},
		{"a short life", whole + "life = 2\n", []string{"contracts[0]", "life 3"}},
		{"no range", whole + "range_size = 0\n", []string{"contracts[0]", "range"}},
		{"no wait for a block", whole + "nudge_after = \"0s\"\n", []string{"line 22, contracts[0].nudge_after"}},
		{"a depth below 0", whole + "depth = -1\n", []string{"line 22, contracts[0].depth"}},
		{"keys forgotten too early", whole + "forget_after = \"10m\"\n", []string{"line 22, contracts[0].forget_after", "carried out again"}},
		{"keys forgotten after no time", whole + "forget_after = 30\n", []string{"line 22, contracts[0].forget_after", "no unit"}},
		{"another domain", but("notes/1", "slots/1"), []string{"line 20, contracts[0].domain", "it knows notes/1"}},
		{"no issuer", but("issuer = \"bank\"\n", ""), []string{"contracts[0].domain", "needs an issuer"}},
		{"an issuer that is no member", but("issuer = \"bank\"", "issuer = \"west\""), []string{"contracts[0].domain", "needs an issuer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text)
			configtest.Faults(t, err, c.says, "SECRET")
		})
	}
}

// What is shipped as an example is accepted, once its comments are taken out.
func TestTheShippedExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash("../../../../../deploy/conch.toml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n# [identity]\n")
	part, _, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("there is no [identity] in the example")
	}
	c, err := load(t, db+"[identity]\n"+strings.ReplaceAll("\n"+part, "\n# ", "\n"))
	if err != nil || len(config.Of[*Section](c).contracts) != 1 {
		t.Errorf("%v", err)
	}
}

// The table that deploy prints says what was deployed.
func TestTheTableOfDeploy(t *testing.T) {
	t.Parallel()
	d := deployment{
		Agreed:  Agreed{RangeSize: 200, Depth: 3, Life: 60, Policy: "ring", Domain: "notes/1", Issuer: "north"},
		members: []string{member("bank", 0xb1), member("north", 0xb2), member("east", 0xb3)}, committee: []string{"east", "bank"}, endorsement: "2", payer: "ops",
	}
	if err := d.read(); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, db+identity+north+east+d.table()+"\n")
	if err != nil {
		t.Fatal(err)
	}
	got := config.Of[*Section](c).contracts[0]
	if here, there := declaration(got, 7), declaration(d.Agreed, 7); got.Account != "ops" || len(differences(here, there)) > 0 {
		t.Errorf("the table declares %v\nand deployed was %v", here, there)
	}
}

// declaring returns a contract of three members with these accounts.
func declaring(address, bank, north, east string) string {
	return fmt.Sprintf(`
[[contracts]]
address = "0x%040s"
account = "ops"
members = ["bank", "north", "east"]
accounts = { bank = "0x%040s", north = "0x%040s", east = "0x%040s" }
domain = "notes/1"
issuer = "bank"
`, address, bank, north, east)
}

func loaded(t *testing.T, contracts ...string) (config.Config, error) {
	t.Helper()
	text := "database.url = \"postgres://h/d\"\n[identity]\nname = \"bank\"\nlisten = \"127.0.0.1:0\"\nkey = \"id.pem\"\n"
	for _, name := range []string{"north", "east"} {
		text += fmt.Sprintf("[[peers]]\nname = %q\nurl = \"https://h:7443\"\nkey = \"sha256:%064d\"\n", name, 1)
	}
	path := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(path, []byte(text+strings.Join(contracts, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Source{Path: path, Getenv: func(string) string { return "" }, Sections: configtest.Beside(peers.Kind().Section, Kind().Section)})
}

// A peer is one account for the node, whichever contract a message is about: which of two it would be was chance, and the
// messages of one contract went to the other's member.
func TestAMemberIsOneAccount(t *testing.T) {
	t.Parallel()
	if _, err := loaded(t, declaring("a1", "b1", "c1", "d1"), declaring("a2", "b1", "c1", "d1")); err != nil {
		t.Fatal(err)
	}
	for name, second := range map[string]string{
		"another account of a peer":    declaring("a2", "b1", "c2", "d1"),
		"another account of the node":  declaring("a2", "b2", "c1", "d1"),
		"two peers that change places": declaring("a2", "b1", "d1", "c1"),
	} {
		_, err := loaded(t, declaring("a1", "b1", "c1", "d1"), second)
		if err == nil || !strings.Contains(err.Error(), "contracts[1].accounts.") {
			t.Errorf("%s: got error %v, want a fault of contracts[1].accounts", name, err)
		}
	}
	_, err := loaded(t, strings.Replace(declaring("a1", "b1", "c1", "d1"), `, "east"`, "", 1), strings.Replace(declaring("a2", "b1", "c1", "c1"), `"north", `, "", 1))
	if err == nil || !strings.Contains(err.Error(), "contracts[1].accounts.east") {
		t.Errorf("an account of two peers: got error %v, want a fault of contracts[1].accounts.east", err)
	}
}

// A reload that names other contracts does not change what users are told of the node that runs: it would say that it has no
// such contract, or that it has one which nobody runs.
func TestAReloadLeavesTheContracts(t *testing.T) {
	t.Parallel()
	before, err := loaded(t, declaring("a1", "b1", "c1", "d1"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := loaded(t, declaring("a2", "b1", "c1", "d1"))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{frame: node.Frame{Accounts: &node.Accounts{}}, section: *config.Of[*Section](after)}
	s.term = &term{section: *config.Of[*Section](before)}
	all, self, _ := s.Contracts()
	if len(all) != 1 || all[0].Address != config.Of[*Section](before).contracts[0].Address || len(self) != 20 || self == (ledger.Account("")) {
		t.Errorf("got %v, want the contract with which the node began", all)
	}
}

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
