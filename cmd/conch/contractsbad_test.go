//go:build unix

package main_test

import (
	"crypto/tls"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// differs reports whether an organisation's node says that another one has another declaration.
func (p *parties) differs(o, of *organisation) (is bool) {
	_, answer := get(p.t, o.api()+"/v1/contracts")
	all, _ := answer["contracts"].([]any)
	for _, one := range all {
		one, _ := one.(map[string]any)
		members, _ := one["members"].([]any)
		for _, m := range members {
			if m, _ := m.(map[string]any); m["name"] == of.name {
				is, _ = m["differs"].(bool)
			}
		}
	}
	return is
}

// I10: a node with another declaration of the contract is named, by the value that differs, by itself and by the others, and
// takes no part; who cannot say who it is gets no connection. Both are counted, and the others go on.
func TestABadNeighbourHurtsNobodyElse(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	p := newParties(t, 2, "bank", "north", "east")
	bank, north, east := p.all[0], p.all[1], p.all[2]
	north.stop(syscall.SIGTERM)
	north.write(strings.Replace(p.file(north), "range_size  = 50", "range_size = 60", 1))
	p.start(north)
	north.says("a contract on its chain is another one", "contract", p.address)
	if said := north.value("a contract on its chain is another one, and this node takes no part in it", "error"); !strings.Contains(said, "range is 50 there and 60 here") {
		t.Errorf("north says %q, want the value that differs", said)
	}
	code, answer := get(t, north.api()+"/v1/contracts/"+p.address)
	if detail, _ := answer["detail"].(string); code != http.StatusServiceUnavailable || answer["type"] != "urn:conch:problem:contract-unread" || !strings.Contains(detail, "range is 50 there and 60 here") {
		t.Errorf("north answers %d %v, want a refusal with the value that differs", code, answer)
	}
	pgtest.Eventually(t, longPatience, "both sides name the other", func() bool {
		return p.differs(bank, north) && p.differs(east, north) && p.differs(north, bank)
	})
	if p.differs(bank, east) {
		t.Error("bank says that east differs, which has the same declaration")
	}
	stranger, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}).DialContext(t.Context(), "tcp", bank.front.Addr())
	if err == nil { // the server judges after the client has finished
		_, err = stranger.Read(make([]byte, 1))
		_ = stranger.Close()
	}
	if err == nil {
		t.Error("a peer without a certificate is let in")
	}
	p.ends(bank, p.asks(bank, "funds", `{"issue": {"to": "office", "amount": 100}}`), "confirmed")
	p.ends(east, p.asks(east, "payment", `{"pay": {"from": "office", "to": "desk", "amount": 2}}`), "confirmed")
	for o, want := range map[*organisation][]string{
		bank:  {`conch_sequencer_members_differing{contract="` + p.address + `"} 1`, `conch_sequencer_strangers_refused_total{reason="no certificate"} 1`, `conch_sequencer_outages_total{reason="other"} 0`},
		north: {`conch_sequencer_members_differing{contract="` + p.address + `"} 2`, `conch_sequencer_outages_total{reason="other"} 1`},
	} {
		_, metrics := page(t, o.api()+"/metrics")
		for _, line := range want {
			if !strings.Contains(metrics, line+"\n") {
				t.Errorf("%s does not count %s", o.name, line)
			}
		}
	}
	north.stop(syscall.SIGTERM)
	north.write(p.file(north))
	p.start(north)
	p.ends(north, p.asks(north, "corrected", `{"pay": {"from": "office", "to": "desk", "amount": 2}}`), "confirmed")
}
