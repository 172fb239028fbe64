package pending

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/conchhq/conch/chain"
)

// A slot is in memory until it is final, which can take hours. The call of its intent, which may be long, is not.
func TestASlotDoesNotKeepTheCallOfItsIntent(t *testing.T) {
	t.Parallel()
	call, slots := newSlots()
	for range 100 {
		runtime.GC()
		if call.Value() == nil {
			runtime.KeepAlive(slots)
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d slots keep the call of an intent in memory", len(slots))
}

// newSlots returns the slots of two intents, and the first byte of a call of theirs.
func newSlots() (weak.Pointer[byte], []Slot) {
	data := make([]byte, 1<<16)
	queue := Queue{Oldest: []Record{{Intent: Intent{ID: ID{1}, Call: chain.Call{Data: data}}}, {Intent: Intent{ID: ID{2}}}}}
	b, _ := assign{RejectAfter: time.Hour}.judgeTried(queue, make([]chain.Prepared, 2), 1)
	return weak.Make(&data[0]), b.New
}
