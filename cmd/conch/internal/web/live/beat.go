package live

import (
	"slices"
	"time"

	"github.com/conchhq/conch/election/pgops"
)

// Beats is the last heartbeat of each holder: all those of a holder are within a millisecond.
type Beats struct {
	AsOf    time.Time `json:"as_of"`
	Holders []Beat    `json:"holders"`
}

// Beat is one holder's.
type Beat struct {
	Holder string `json:"holder"`
	AgeMS  int64  `json:"age_ms"`  // at AsOf
	Scopes int64  `json:"scopes"`  // that it leads
	Late   int64  `json:"late"`    // of them those without a heartbeat in a lease
	Holds  int64  `json:"holding"` // of them those in which it waits until no predecessor can act
}

// BeatsOf shows a reading.
func BeatsOf(read []pgops.Beat, at time.Time) Beats {
	b := Beats{AsOf: at.UTC(), Holders: []Beat{}}
	for _, r := range read {
		b.Holders = append(b.Holders, Beat{r.Holder, r.AgeMS, r.Scopes, r.Late, r.Holds})
	}
	return b
}

// Moved reports whether the rows have to be read again, since somebody leads more or fewer scopes than before,
// or beats late, or waits no longer for predecessors.
func (b Beats) Moved(before Beats) bool {
	return !slices.EqualFunc(b.Holders, before.Holders, func(x, y Beat) bool { x.AgeMS, y.AgeMS = 0, 0; return x == y })
}
