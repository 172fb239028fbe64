package hint

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// An honest node between floods relays no more of them than its next peer lets an honest one relay: that peer names it never, and a guest that
// floods it directly at once when that is spent.
func TestARelayOfFloodsIsNotNamed(t *testing.T) {
	t.Parallel()
	named := func(m *Machine, out []Action) (n int) {
		for _, a := range out {
			if r, is := a.(Refused); is && errors.Is(r.Why, ErrNews) && m.now >= m.telling.quiet {
				n++
			}
		}
		return n
	}
	for _, guests := range []int{1, 2, 4} {
		relay, next := crowded(guests), crowded(1)
		n, accused, caught := 0, 0, 0
		for round := range 40 {
			now := time.Duration(round+1) * relay.cfg.Round
			var sent []Send
			for g := range guests {
				for range 100 {
					n++
					out := relay.brings(now, fmt.Sprint("p", g), invented(fmt.Sprint("s", n), 1, "t", 0, nil))
					sent, caught = append(sent, of[Send](out)...), caught+named(relay, out)
				}
			}
			for _, s := range sent {
				accused += named(next, next.Step(now+relay.cfg.Round/2, Received{From: "p0", Parcel: s.Parcel}))
			}
		}
		if accused > 0 {
			t.Errorf("of %d guests' floods: the honest relay is named %d times", guests, accused)
		}
		if guests == 1 && caught == 0 {
			t.Error("the one guest that floods is not named")
		}
	}
}
