//go:build unix

package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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
