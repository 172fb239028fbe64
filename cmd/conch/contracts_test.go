//go:build unix

package main_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport/mtls"
)

// organisation is one party of a private contract: a node with a database, an account and an identity of its own.
type organisation struct {
	*daemon
	name, fingerprint string
	db                string
	account           ledger.Account
	front             *tcpproxy.Proxy // where its peers reach it, also after it was started again
}

// parties are organisations that share a contract on a chain.
type parties struct {
	t       *testing.T
	chain   *devnode
	all     []*organisation
	address string // of the contract
	table   string // that deploy has printed
}

// newParties starts a node for each name, and deploys a contract of which so many have to endorse.
func newParties(t *testing.T, needed int, names ...string) *parties {
	t.Helper()
	return agreeing(t, needed, []string{"--range-size", "50"}, names...)
}

// agreeing deploys with further arguments.
func agreeing(t *testing.T, needed int, deploys []string, names ...string) *parties {
	t.Helper()
	p := &parties{t: t, chain: startDevnode(t)}
	for _, name := range names {
		p.join(name, migrated(t).URL)
	}
	p.deploy(needed, deploys)
	for _, o := range p.all {
		o.write(p.file(o))
		p.start(o)
	}
	return p
}

// join makes the files of one more organisation, whose node is not started yet.
func (p *parties) join(name, db string) {
	p.t.Helper()
	o := &organisation{name: name, db: db, front: proxied(p.t, "127.0.0.1:1")}
	o.daemon = prepareDaemon(p.t, name, o.db, "")
	key := worthlessKey // the first one has money
	if len(p.all) > 0 {
		key = hex.EncodeToString(randomKey())
	}
	account, err := evm.WriteKeystore(filepath.Join(o.dir, "key.json"), key, keystorePassword, evm.NoCost)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.dir, "password"), []byte(keystorePassword), 0o600); err != nil {
		p.t.Fatal(err)
	}
	id, err := mtls.CreateIdentity(filepath.Join(o.dir, "identity.pem"))
	if err != nil {
		p.t.Fatal(err)
	}
	o.account, o.fingerprint = ledger.Account(account), id.Fingerprint().String()
	p.all = append(p.all, o)
}

func randomKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	key[0] &= 0x7f        // below the order of the curve
	return key
}

func (p *parties) accounts() string {
	return fmt.Sprintf("[[chains]]\nname = \"main\"\nkind = \"evm\"\nurl = %q\nchain_id = 1337\n[[accounts]]\nname = \"ops\"\nchain = \"main\"\nkeystore = \"key.json\"\npassword_file = \"password\"\n", p.chain.url)
}

// deploy has the first organisation pay for the others and create the contract.
func (p *parties) deploy(needed int, more []string) {
	p.t.Helper()
	first := p.all[0]
	first.write(fileOf(first.db, "listen = \"127.0.0.1:0\"\n"+p.accounts()))
	first.start()
	var ids []string
	ask := func(body string) {
		code, answer := post(p.t, first.api()+"/v1/transactions", body)
		if code != http.StatusAccepted {
			p.t.Fatalf("%d %v", code, answer)
		}
		ids = append(ids, answer["id"].(string))
	}
	for _, o := range p.all[1:] {
		ask(fmt.Sprintf(`{"account":"ops","to":%q,"value":"1000000000000000000"}`, o.account))
	}
	for _, id := range ids {
		pgtest.Eventually(p.t, longPatience, "a transaction is done", func() bool {
			_, answer := get(p.t, first.api()+"/v1/transactions/"+id)
			return answer["fate"] == "done"
		})
	}
	args := []string{"contract", "deploy", "--node", first.api(), "--account", "ops", "--issuer", first.name, "--endorsement", fmt.Sprint(needed)}
	args = append(args, more...)
	for _, o := range p.all {
		args = append(args, "--member", o.name+"="+o.account.String())
	}
	printed := conch(p.t, args...).done(p.t)
	p.table = printed
	if p.address = between(printed, `address     = "`, `"`); p.address == "" {
		p.t.Fatalf("deploy printed %s", printed)
	}
	first.stop(syscall.SIGTERM)
}

// file returns an organisation's configuration.
func (p *parties) file(o *organisation) string {
	text := fileOf(o.db, "listen = \"127.0.0.1:0\"\n"+p.accounts()) +
		fmt.Sprintf("[identity]\nname = %q\nlisten = \"127.0.0.1:0\"\nkey = \"identity.pem\"\n", o.name)
	for _, other := range p.all {
		if other != o {
			text += fmt.Sprintf("[[peers]]\nname = %q\nurl = \"https://%s\"\nkey = %q\n", other.name, other.front.Addr(), other.fingerprint)
		}
	}
	return text + p.table
}

// between returns what stands between two texts, empty if they are not there.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	found, _, _ := strings.Cut(rest, to)
	return found
}

const contractsRun = "the node of the contracts runs"

func (p *parties) start(o *organisation) {
	p.t.Helper()
	runs, serves := o.count(contractsRun), o.count("serving the API")
	o.start()
	pgtest.Eventually(p.t, longPatience, o.name+" runs", func() bool { return o.count(contractsRun) > runs && o.count("serving the API") > serves })
	o.front.Retarget(o.value(contractsRun, "listen"))
}

// asks hands a request in and returns the path of the transaction.
func (p *parties) asks(o *organisation, key, request string) (path string) {
	p.t.Helper()
	path = "/v1/contracts/" + p.address + "/transactions"
	code, answer := post(p.t, o.api()+path, fmt.Sprintf(`{"request":%s,"idempotency_key":%q}`, request, key))
	if code != http.StatusAccepted {
		p.t.Fatalf("%s: %d %v", key, code, answer)
	}
	return path + "/" + answer["id"].(string)
}

// ends waits until a transaction has ended, and returns it.
func (p *parties) ends(o *organisation, path, fate string) (t map[string]any) {
	p.t.Helper()
	pgtest.Eventually(p.t, longPatience, path+" is "+fate, func() bool {
		_, t = get(p.t, o.api()+path)
		return t["fate"] != "open"
	})
	if t["fate"] != fate {
		p.t.Fatalf("%s ended as %v, want %s", path, t, fate)
	}
	return t
}

// P28, P32, P33, P38 to P43: three organisations, each with its own process, database, account and identity, share a contract
// on a real chain. One is killed in the middle and comes back; every payment lands once.
func TestOrganisationsShareAContract(t *testing.T) {
	t.Parallel()
	p := newParties(t, 2, "bank", "north", "east")
	bank, north, east := p.all[0], p.all[1], p.all[2]
	funds := p.ends(bank, p.asks(bank, "funds", `{"issue": {"to": "office", "amount": 100}}`), "confirmed")
	if story, _ := funds["story"].([]any); len(story) < 8 || funds["block"] == nil || funds["attempt"] == nil {
		t.Errorf("its story is %v, want each step", funds)
	}
	pays := func(o *organisation, i int) string {
		return p.asks(o, fmt.Sprint("payment ", i), fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": 2}}`, i%2))
	}
	var paths []string
	for i, o := range []*organisation{bank, north, east, bank, north, east} {
		paths = append(paths, pays(o, i))
	}
	east.stop(syscall.SIGKILL)
	paths = append(paths, pays(bank, 6), pays(north, 7))
	p.ends(north, paths[7], "confirmed") // two of three are enough
	p.start(east)
	for i, o := range []*organisation{bank, north, east, bank, north, east, bank, north} {
		p.ends(o, paths[i], "confirmed")
	}
	if again := pays(east, 2); again != paths[2] {
		t.Errorf("asked again after the kill, the payment is %s, want %s", again, paths[2])
	}
	poor := p.asks(north, "too much", `{"pay": {"from": "office", "to": "desk-0", "amount": 85}}`)
	code, answer := post(t, north.api()+poor+"/cancel", "")
	if code != http.StatusAccepted {
		t.Fatalf("%d %v", code, answer)
	}
	p.ends(north, poor, "reverted")
	sent := conch(t, "contract", "send", p.address, "--node", east.api(), "--request", `{"pay": {"from": "office", "to": "desk-1", "amount": 1}}`, "--wait")
	if out := sent.done(t); !strings.Contains(out, "fate     confirmed") || strings.Count(out+sent.err, "endorsed by ") != 1 {
		t.Errorf("send printed %s and on stderr %s, want each step once, and its end", out, sent.err)
	}
	conch(t, "contract", "send", p.address, "--node", east.api(), "--request", `{"pay": 1}`).refused(t, 2, "request")
	for _, args := range [][]string{{"list"}, {"show", p.address}} {
		if out := conch(t, append(append([]string{"contract"}, args...), "--node", east.api())...).done(t); !strings.Contains(out, p.address) {
			t.Errorf("%v printed %s, want the address", args, out)
		}
	}
	_, seen := get(t, east.api()+"/v1/contracts/"+p.address)
	members, _ := seen["members"].([]any)
	if len(members) != 3 || seen["coordinator"] == "" || seen["chain"] != "main" {
		t.Errorf("east says of the contract: %v", seen)
	}
	p.forgets(t, map[*organisation]string{bank: paths[0], north: paths[1], east: paths[2]})
	doctored(t, p, east)
	tellsNoSecret(t, bank.text()+north.text()+east.text())
}

// doctored asks conch doctor about an organisation's file, as it is and with another range, account and address.
func doctored(t *testing.T, p *parties, o *organisation) {
	t.Helper()
	asks := func(old, text string) string {
		t.Helper()
		file := p.file(o)
		if !strings.Contains(file, old) {
			t.Fatalf("%q is not in the file", old)
		}
		o.write(strings.Replace(file, old, text, 1))
		return conch(t, "doctor", "--config", o.file).out
	}
	for _, c := range []struct{ old, text, says string }{
		{"issuer", "issuer", p.address + " is the one that was agreed on"},
		{"issuer", "issuer", "2 peers answer with the right key"},
		{"range_size  = 50", "range_size = 60", "range_size: the file says 60, and the contract 50"},
		{`account     = "ops"`, `account = "opps"`, `no [[accounts]] has that name: "opps"`},
		{p.address, "0x" + strings.Repeat("1", 40), "there is none at 0x" + strings.Repeat("1", 40)},
		{p.all[0].fingerprint, "sha256:" + strings.Repeat("0", 64), p.all[0].fingerprint + ", and not the one that is written down"},
	} {
		if out := asks(c.old, c.text); !strings.Contains(out, c.says) {
			t.Errorf("with %s the doctor says %s\nwant %q", c.text, out, c.says)
		}
	}
}

// standby returns a second process of an organisation: the same database, account and identity.
func (p *parties) standby(o *organisation) *organisation {
	p.t.Helper()
	second := *o
	second.daemon = prepareDaemon(p.t, o.name+"-2", o.db, "")
	for _, name := range []string{"key.json", "password", "identity.pem"} {
		bytes, err := os.ReadFile(filepath.Join(o.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(second.dir, name), bytes, 0o600)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	second.write(p.file(o))
	second.daemon.start()
	pgtest.Eventually(p.t, longPatience, "the standby serves", func() bool { return second.count("serving the API") > 0 })
	return &second
}

// leads waits until a process runs the node of its organisation, and has the peers find it, as a proxy in front of a pair does.
func (p *parties) leads(o *organisation, terms int) {
	p.t.Helper()
	pgtest.Eventually(p.t, longPatience, o.id+" leads", func() bool { return o.count(contractsRun) >= terms })
	o.front.Retarget(o.value(contractsRun, "listen"))
}

// S9, P38, P39, P40: an organisation runs its node as a pair on one database. The leader is killed in mid-flight, twice, and
// asked to end once; the other one goes on with the same intents and grants, each lands once, and each key names the same one.
func TestAPairSharesAContract(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	p := newParties(t, 2, "bank", "north")
	bank, leader := p.all[0], p.all[1]
	other := p.standby(leader)
	if code, answer := get(t, other.api()+"/v1/contracts"); code != http.StatusServiceUnavailable {
		t.Errorf("the standby says %d %v, want that it does not lead", code, answer)
	}
	p.ends(bank, p.asks(bank, "funds", `{"issue": {"to": "office", "amount": 100}}`), "confirmed")
	paths := map[string]string{}
	pays := func(o *organisation, key string) string {
		return p.asks(o, key, `{"pay": {"from": "office", "to": "desk", "amount": 2}}`)
	}
	terms := 1
	for round, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL} {
		for i := range 5 {
			key := fmt.Sprint("payment ", round, ".", i)
			paths[key] = pays(leader, key)
		}
		foreign := pays(bank, fmt.Sprint("of the bank ", round))
		leader.stop(signal)
		p.leads(other, terms)
		for key, path := range paths {
			if again := pays(other, key); again != path {
				t.Errorf("after the change %s is %s, want %s", key, again, path)
			}
		}
		for _, path := range paths {
			p.ends(other, path, "confirmed")
		}
		p.ends(bank, foreign, "confirmed")
		began := leader.count("serving the API")
		leader.daemon.start()
		pgtest.Eventually(t, longPatience, "it serves again", func() bool { return leader.count("serving the API") > began })
		leader, other = other, leader
		terms = 1 + other.count(contractsRun)
	}
	last := p.asks(bank, "all that is left", fmt.Sprintf(`{"pay": {"from": "office", "to": "desk", "amount": %d}}`, 100-2*(len(paths)+3)))
	p.ends(bank, last, "confirmed")
	tellsNoSecret(t, bank.text()+leader.text()+other.text())
}
