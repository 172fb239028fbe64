package quorum

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// The beats of a leader end with its leadership: a node that has given its term up, or was deposed, does not say in a long step that
// it leads (B15).
func TestBeatsEndWithTheLeadership(t *testing.T) {
	t.Parallel()
	old, next := core.Send{To: "n2", Body: wire.Quorum{Bytes: []byte("old")}, Beat: true}, core.Send{To: "n3", Beat: true}
	leads := func(self bool) core.Act { return core.Tell{Event: core.Leads{Term: 2, Self: self}} }
	for name, c := range map[string]struct {
		acts []core.Act
		want string
	}{
		"nothing happens":   {[]core.Act{core.Send{To: "n2"}, core.Tell{Event: core.Member{Is: true}}}, "n2"},
		"new beats":         {[]core.Act{next}, "n3"},
		"deposed":           {[]core.Act{leads(false)}, ""},
		"deposed after one": {[]core.Act{next, leads(false)}, ""},
		"leads again":       {[]core.Act{leads(true)}, "n2"},
		"gives up":          {[]core.Act{core.Restart{Why: errors.New("its memory is wrong")}}, ""},
	} {
		h, _ := still(t)
		l := &loop{Host: h}
		l.keepBeats([]core.Act{old})
		l.keepBeats(c.acts)
		got := ""
		for _, b := range h.beats {
			got += b.to
		}
		if got != c.want {
			t.Errorf("%s: beats to %q are kept, want %q", name, got, c.want)
		}
	}
}
