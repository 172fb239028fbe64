//go:build unix

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// office has the nodes, each behind an address that stays when it is started again, and what is asked of them.
type office struct {
	*team
	fronts map[string]*tcpproxy.Proxy
	line   *tcpproxy.Proxy // to the endpoint that is not behind the provider
	kills  int
}

// newOffice starts nodes with two endpoints: the chain's node, and a provider before it. How they weigh them differs,
// so that leaders in turn read from either, and send to both or to the provider alone.
func newOffice(t *testing.T, db string, chain *devnode, provider *evmtest.Provider) *office {
	t.Helper()
	m := &team{t: t, db: db, nodes: map[string]*daemon{}, apis: map[string]string{}}
	o := &office{team: m, fronts: map[string]*tcpproxy.Proxy{}, line: proxied(t, strings.TrimPrefix(chain.url, "http://"))}
	for id, how := range map[string]string{"n1": "", "n2": ", weight = 2", "n3": ", weight = 2, private = true"} {
		n := prepareDaemon(t, id, db, "")
		if err := os.WriteFile(filepath.Join(n.dir, "token"), []byte(officeToken), 0o600); err != nil {
			t.Fatal(err)
		}
		urls := fmt.Sprintf("urls = [%q, { url = %q%s }]", "http://"+o.line.Addr(), provider.HTTP(), how)
		account := strings.Replace(accountAt(n, "both", 1337, "order = \"relaxed\"\nunlimited = true\n"+shortLease), `url = "both"`, urls, 1)
		n.write(fileOf(db, "listen = \"127.0.0.1:0\"\ntoken_file = \"token\"\n"+account))
		m.nodes[id] = n.start()
		m.serves(id, 1)
		o.fronts[id] = proxied(t, n.value("serving the API", "address"))
	}
	return o
}

func proxied(t *testing.T, target string) *tcpproxy.Proxy {
	t.Helper()
	p, err := tcpproxy.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// killsLeader kills the account's leader, and starts it again once there is a successor.
func (o *office) killsLeader() {
	o.t.Helper()
	id, epoch := o.leader(0)
	o.down(id, syscall.SIGKILL)
	o.kills++
	o.leader(epoch)
	n := o.nodes[id]
	starts := n.count("serving the API")
	n.start()
	o.serves(id, starts+1)
	o.fronts[id].Retarget(n.value("serving the API", "address"))
}

// pays starts the example with a list of invoices.
func (o *office) pays(list string) *run {
	o.t.Helper()
	var nodes []string
	for _, front := range o.fronts {
		nodes = append(nodes, "http://"+front.Addr())
	}
	return invoicesRun(o.t, list, nodes...)
}

// killedAt kills leaders while the example runs, and the example itself once cond holds, unless it has come to its end.
func (o *office) killedAt(r *run, random *rand.Rand, cond func() bool) {
	o.t.Helper()
	pause := time.NewTimer(time.Duration(random.Int64N(int64(time.Second))))
	defer pause.Stop()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	tooLong := time.NewTimer(5 * longPatience)
	defer tooLong.Stop()
	for {
		select {
		case <-pause.C:
			if o.line.Heal(); random.IntN(2) == 0 { // until the next leader is killed the provider is all that there is
				o.line.Refuse()
				o.line.Reset()
			}
			o.killsLeader()
			pause.Reset(time.Second + time.Duration(random.Int64N(int64(2*time.Second))))
		case <-poll.C:
			if cond() {
				r.Kill()
			}
		case <-r.Gone():
			return
		case <-tooLong.C:
			r.Kill()
			r.Wait(patience) // until then its outputs grow
			o.t.Fatalf("not within %v: the service comes to its end, after %s%s", 5*longPatience, &r.out, &r.log)
		}
	}
}
