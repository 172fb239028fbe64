//go:build unix

package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

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

// I10: a contract whose chain is away when the node starts waits for it alone; what the node shows of it says so.
func TestAnotherChainIsAway(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	p := newParties(t, 1, "bank")
	bank := p.all[0]
	bank.stop(syscall.SIGTERM)
	const far = "0x00000000000000000000000000000000000000fa"
	second := strings.NewReplacer(p.address, far, `"ops"`, `"far"`).Replace(p.table)
	text := strings.Replace(p.file(bank), "[[accounts]]", "[[chains]]\nname = \"far\"\nkind = \"evm\"\nurl = \"http://127.0.0.1:1\"\nchain_id = 4242\n"+
		"[[accounts]]\nname = \"far\"\nchain = \"far\"\nkeystore = \"key.json\"\npassword_file = \"password\"\n[[accounts]]", 1)
	bank.write(text + second)
	p.start(bank)
	p.ends(bank, p.asks(bank, "funds", `{"issue": {"to": "office", "amount": 100}}`), "confirmed")
	_, answer := get(t, bank.api()+"/v1/contracts")
	all, _ := answer["contracts"].([]any)
	if len(all) != 2 {
		t.Fatalf("the node lists %v, want both contracts", answer)
	}
	for _, one := range all {
		one, _ := one.(map[string]any)
		why, unread := one["unread"].(string)
		if unread != (one["address"] == far) || unread != (one["final"] == nil) || unread != (one["coordinator"] == nil) || unread && !strings.Contains(why, "the chain cannot be asked") {
			t.Errorf("a contract is shown as %v, want no height of that on the chain that is away, and why", one)
		}
	}
	bank.says("the contracts of a chain wait for it", "contract", far, "chain", 4242.0, "contracts", 1.0)
	if n := bank.count("a contract cannot be read"); n > 0 {
		t.Errorf("the outage of a chain is told of %d times for a contract", n)
	}
	code, refused := post(t, bank.api()+"/v1/contracts/"+far+"/transactions", `{"request":{"issue":{"to":"office","amount":1}}}`)
	if detail, _ := refused["detail"].(string); code != http.StatusServiceUnavailable || refused["type"] != "urn:conch:problem:contract-unread" || !strings.Contains(detail, "nothing was stored") {
		t.Errorf("a transaction of it is answered with %d %v, want a refusal that blames the chain", code, refused)
	}
	conch(t, "contract", "show", far, "--node", bank.api()).refused(t, 1, "cannot be read now", "the chain cannot be asked")
}
