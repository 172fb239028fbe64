package hint

import (
	"fmt"
	"testing"
	"time"
)

// A relay of a flood may bring all the news that a round allows at the beginning of each. An honest piece that comes by it later finds room: else
// whether it is heard would depend on when two nodes have begun, in each exchange as well, and a flood leaves time for few of those.
func TestNewsBehindAFloodIsHeard(t *testing.T) {
	t.Parallel()
	m := crowded(1)
	junk := 0
	for i := range 20 {
		now := time.Duration(i+1) * m.cfg.Round
		for range freshNews {
			junk++
			m.brings(now, "p0", invented(fmt.Sprint("s", junk), 1, "t", 0, nil))
		}
		if n := heardIn(m.brings(now+m.cfg.Round/2, "p0", invented(fmt.Sprint("honest ", i), 1, "flag", 0, nil))); n == 0 {
			t.Errorf("round %d: the piece is not heard", i)
		}
	}
	if heard := len(m.news) - 20; heard > 21*freshNews/2 {
		t.Errorf("%d pieces of the flood were heard, want %d at most", heard, 21*freshNews/2)
	}
}
