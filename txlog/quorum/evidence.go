package quorum

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/store"
)

// Evidence returns what a store keeps of heads that members have signed and that cannot be true: pairs that contradict each other, and then
// such as the leader of that time has denied, alone; each by index. Who has signed them anybody can check; that one was denied the store's node
// alone says. The error is one of the store, or txlog.ErrMalformed if a value is no head.
func Evidence(s store.Store) ([][]txlog.Head, error) { return core.Evidence(s) }
