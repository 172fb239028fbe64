package worker

import (
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// A connection from an earlier term may be by an address that has fallen silent since, while the elector leads by another one. The
// worker gives it up and connects anew: else it would write no row in that term.
func TestALedgerOnASilentLineIsGivenUp(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	line, url := db.Proxy(t)
	old, err := pgledger.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	line.Blackhole(tcpproxy.Both)
	n := &node{cfg: Config{Database: pgmint.Config{URL: db.URL}}, ledger: old}
	pgtest.Within(t, time.Minute, "the last row is read by another connection", func() {
		if last, err := n.last(t.Context()); err != nil || last != 0 || n.ledger == old {
			t.Errorf("got row %d, %v, by the old connection: %t", last, err, n.ledger == old)
		}
	})
	n.ledger.Close(t.Context())
}
