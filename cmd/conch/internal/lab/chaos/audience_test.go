package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// Each rule for what pages are told finds what breaks it, and nothing in a sound run.
func TestWhatPagesAreTold(t *testing.T) {
	t.Parallel()
	second := fence.Instant(time.Second)
	sight := func(change func(v *Viewing)) Evidence {
		e := Evidence{Lease: time.Second, Injections: []Injection{
			{Number: 1, Fault: Fault{Kind: PGKill}, At: 100 * second, Done: 101 * second, Healed: 103 * second, Over: 104 * second},
			{Number: 2, Fault: Fault{Kind: Silent}, Nodes: []string{"node-1"}, At: 200 * second, Done: 201 * second, Healed: 203 * second, Over: 203 * second},
			{Number: 3, Fault: Fault{Kind: StopLong}, Nodes: []string{"node-1"}, At: 300 * second, Done: 301 * second, Healed: 320 * second, Over: 320 * second},
		}}
		for id := range int64(100) {
			e.History = append(e.History, pgops.Event{ID: id + 1})
		}
		v := newViewing(1, false)
		v.begins()
		v.history([]int64{1, 2, 3})
		v.rows(7, map[string]int64{"a": 3})
		for id := int64(4); id <= 60; id++ {
			v.event(id)
		}
		v.Beats = []Beat{{"node-1", 100 * second, 100*second + 1}, {"node-1", 104 * second, 105 * second}, {"node-2", 202 * second, 203 * second}, {"node-1", 302 * second, 321 * second}, {"node-1", 202 * second, 204 * second}}
		if change != nil {
			change(v)
		}
		e.Viewings = []Viewing{*v}
		return e
	}
	for name, c := range map[string]struct {
		change func(v *Viewing)
		want   string
	}{
		"sound":                  {nil, ""},
		"an event twice":         {func(v *Viewing) { v.event(60) }, ToldOnce},
		"on two streams":         {func(v *Viewing) { v.begins(); v.event(60) }, ""},
		"an event is left out":   {func(v *Viewing) { delete(v.have, 50) }, ToldOnce},
		"a new one, not yet":     {func(v *Viewing) { delete(v.have, 57) }, ""},
		"a row goes back":        {func(v *Viewing) { v.rows(8, map[string]int64{"a": 2}) }, ToldNow},
		"an older version":       {func(v *Viewing) { v.rows(6, map[string]int64{"a": 2}) }, ""},
		"of another node":        {func(v *Viewing) { v.moves = true; v.rows(8, map[string]int64{"a": 2}) }, ""},
		"a dead database":        {func(v *Viewing) { v.Beats = append(v.Beats, Beat{"node-3", 102 * second, 102 * second}) }, ToldNow},
		"behind a silent line":   {func(v *Viewing) { v.Beats = append(v.Beats, Beat{"node-1", 202 * second, 202 * second}) }, ToldNow},
		"an old reading":         {func(v *Viewing) { v.Beats = append(v.Beats, Beat{"node-2", 302 * second, 321 * second}) }, ToldNow},
		"a page that is missing": {func(v *Viewing) { v.answered("/", 404) }, Answers},
		"a database that is out": {func(v *Viewing) { v.answered("/v1/history", 503) }, ""},
	} {
		found := ""
		sight(c.change).viewed(func(invariant string, _ fence.Instant, _ string, _ ...any) {
			found = strings.TrimPrefix(found+","+invariant, ",")
		})
		if found != c.want {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}
