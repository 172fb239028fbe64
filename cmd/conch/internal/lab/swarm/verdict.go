package swarm

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/goals"
)

// Verdict is what a record proves. Times are in milliseconds. Its JSON form is public.
type Verdict struct {
	Nodes        int             `json:"nodes"`
	Electors     int             `json:"electors"`
	Cold         float64         `json:"cold_ms"` // from the start of the last process until all named one leader
	ColdRounds   float64         `json:"cold_rounds"`
	Kills        int             `json:"kills"`         // of leaders
	Replaced     evidence.Spread `json:"replaced_ms"`   // from the kill until all living nodes named another
	ReplacedEach []float64       `json:"replaced_each"` // the same, of each kill
	Crashed      int             `json:"crashed"`       // others that were killed
	Partitions   int             `json:"partitions"`
	Silent       evidence.Spread `json:"silent_ms"` // from the cut until nobody on the smaller side named a leader
	Healed       evidence.Spread `json:"healed_ms"` // from the end of the cut until all named one leader
	News         int             `json:"news"`
	Heard        int             `json:"heard"`   // by nodes that were there and connected
	NewsTook     evidence.Spread `json:"news_ms"` // from its acceptance until such a node told of it
	Lost         int             `json:"lost"`    // at such a node
	Doubled      int             `json:"doubled"`
	Deposed      int             `json:"deposed"`      // leaders that worked
	TwoNamed     float64         `json:"two_named_ms"` // the longest time for which two leaders were named
	TwoLed       float64         `json:"two_led_ms"`   // the longest time for which two nodes named themselves
	Leader       string          `json:"leader"`       // in the end, of all; empty: they do not agree
	Late         float64         `json:"late_ms"`      // by which the demo itself was late at most: so busy was the machine
	Log          *goals.Verdict  `json:"log"`          // null: it was not made
	World        *goals.Verdict  `json:"world"`        // the log in Prolog
	Violations   []string        `json:"violations"`   // all of them in words, the counted ones included
}

// Slow reports whether the machine was so busy that heartbeats were late for want of a processor.
func (v Verdict) Slow() bool { return v.Late > 300 }

// Fault returns an error that says what is wrong, or that nothing was shown, or nil.
func (v Verdict) Fault() error {
	switch {
	case len(v.Violations) > 0:
		return fmt.Errorf("%d violations, the first: %s", len(v.Violations), v.Violations[0])
	case v.Kills == 0 || v.News == 0:
		return errors.New("no leader was killed or no news was told, so nothing was shown")
	default:
		return nil
	}
}
