package quorum_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
)

// sync-first: what the loop tells others or its user is in the store by then. Of what is told and lost everybody else would know, and this node
// would not.
func TestWhatIsToldIsStored(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		var heads, applied atomic.Int64
		for _, n := range s.nodes {
			n.kill()
			n.with = func(c *quorum.Config) {
				publish, tell := c.Publish, c.Tell
				c.Publish = func(b []byte) {
					h, err := txlog.DecodeHead(b)
					kept, found, wrong := n.store.Head(h.Index, h.Index)
					if err != nil || wrong != nil || !found || kept.State != h.State {
						t.Errorf("%s tells a head of entry %d, and has stored none", n.name, h.Index)
					}
					heads.Add(1)
					publish(b)
				}
				c.Tell = func(e quorum.Event) {
					if a, is := e.(quorum.Applied); is {
						if last := a.Records[len(a.Records)-1].Index; n.store.View().Last.Index < last {
							t.Errorf("%s tells entry %d, and has stored %d", n.name, last, n.store.View().Last.Index)
						}
						applied.Add(1)
					}
					tell(e)
				}
			}
		}
		for _, n := range s.nodes {
			n.start()
		}
		s.fill(10)
		s.equal(5 * time.Second)
		if heads.Load() == 0 || applied.Load() == 0 {
			t.Errorf("%d heads and %d times entries were told", heads.Load(), applied.Load())
		}
	})
}
