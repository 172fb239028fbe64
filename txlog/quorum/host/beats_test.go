package host

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog/wire"
)

// The beats of a leader end with its leadership: a node that has given its term up, or was deposed, does not say in a long step that
// it leads (B15).
func TestBeatsEndWithTheLeadership(t *testing.T) {
	t.Parallel()
	old, next := Send{To: "n2", Body: wire.Quorum{Bytes: []byte("old")}, Beat: true}, Send{To: "n3", Beat: true}
	leads := func(self bool) Act { return Tell{Event: Leads{Term: 2, Self: self}} }
	for name, c := range map[string]struct {
		acts []Act
		want string
	}{
		"nothing happens":   {[]Act{Send{To: "n2"}, Tell{Event: Member{Is: true}}}, "n2"},
		"new beats":         {[]Act{next}, "n3"},
		"deposed":           {[]Act{leads(false)}, ""},
		"deposed after one": {[]Act{next, leads(false)}, ""},
		"leads again":       {[]Act{leads(true)}, "n2"},
		"gives up":          {[]Act{Restart{Why: errors.New("its memory is wrong")}}, ""},
	} {
		h, _ := still(t)
		l := &loop{Host: h}
		l.keepBeats([]Act{old})
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
