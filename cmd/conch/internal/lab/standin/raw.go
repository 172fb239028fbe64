package standin

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Raw does for a time, on all processors, nothing but what a node has to sign and to verify for each payment, and returns
// for how many it did: the node's endorsement and its grant are signed, the peer's endorsement is verified.
func Raw(s Scheme, long time.Duration) (payments int, took time.Duration) {
	key := s.Key("node")
	peer := s.Key("peer")
	hash := ledger.Hash(sha256.Sum256([]byte("an attempt")))
	endorsement, err := peer.Sign(hash)
	if err != nil {
		return 0, 0
	}
	var done atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for time.Since(began) < long {
				_, _ = key.Sign(hash)
				_, _ = key.Sign(hash)
				s.Verify(peer.Account, hash, endorsement)
				done.Add(1)
			}
		})
	}
	group.Wait()
	return int(done.Load()), time.Since(began)
}
