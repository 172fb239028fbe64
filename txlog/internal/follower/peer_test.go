package follower

import (
	"testing"
	"time"
)

// The first answers of a node may stall, as one in ten does: with a patience learned from them it would be the last that has an entry.
// Where all answers take long, others are not asked each time.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		took []int // ms
		want time.Duration
	}{
		"few answers":          {[]int{500, 500, 500, 500}, usualPatience},
		"three of five stall":  {[]int{220, 15, 410, 17, 230}, usualPatience},
		"a quarter is slow":    {[]int{20, 21, 22, 23, 20, 200, 210, 220}, 42 * time.Millisecond},
		"all are slow":         {[]int{300, 310, 320, 300, 305}, 600 * time.Millisecond},
		"all are very slow":    {[]int{2000, 2000, 2000, 2000, 2000}, firstPatience},
		"it was slow long ago": {append([]int{500, 500, 500, 500, 500}, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20), usualPatience},
	} {
		var p pace
		for _, took := range c.took {
			p.add(time.Duration(took)*time.Millisecond, 0)
		}
		if got := p.patience(); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
