package transactions

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// What the signers of a chain took is measured by account, and an account that has signed nothing is there too.
func TestSigningIsMeasured(t *testing.T) {
	t.Parallel()
	s := newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler)}, nil)
	idle := Account{Name: "idle", Address: "idle", Chain: payerAccount.Chain}
	s.accounts.configured = []Account{payerAccount, idle}
	away := errors.New("away")
	_, _, err := s.chains.acquire(payerAccount.Chain, func(_ Chain, keys *evm.Keys) (chain.Chain, error) {
		keys.Signed(payerAccount.Address, 300*time.Millisecond)
		return nil, away
	})
	if !errors.Is(err, away) {
		t.Fatal(err)
	}
	page := prometheus.NewRegistry()
	page.MustRegister(s.Collectors()[2])
	all, err := page.Gather()
	if err != nil || len(all) != 1 || all[0].GetName() != "conch_signing_seconds" {
		t.Fatalf("got %v, %v", all, err)
	}
	counts := map[string]uint64{}
	for _, m := range all[0].GetMetric() {
		counts[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
		if h := m.GetHistogram(); h.GetSampleCount() > 0 && h.GetSampleSum() != 0.3 {
			t.Errorf("they took %v s, want 0.3", h.GetSampleSum())
		}
	}
	if len(counts) != 2 || counts[payerAccount.Name] != 1 || counts[idle.Name] != 0 {
		t.Errorf("signatures were %v, want one and none", counts)
	}
}
