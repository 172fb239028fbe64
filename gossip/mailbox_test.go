package gossip

import (
	"fmt"
	"testing"
)

// However many events come, the mailbox is bounded, has the newest suggestion of each namespace, and news before refusals.
func TestTheMailboxIsBounded(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	puts := 0
	put := func(e Event) { m.put(e); puts++ }
	for i := range 3 * mostEvents {
		put(Leader{Namespace: fmt.Sprint(i % 2), Reign: uint64(i)})
		put(Refused{})
	}
	for range mostEvents / 2 {
		put(News{})
	}
	all := m.take()
	if len(all) > mostEvents+1 {
		t.Fatalf("%d events wait", len(all))
	}
	newest, news := map[string]uint64{}, 0
	for _, e := range all[1:] {
		switch e := e.(type) {
		case Leader:
			newest[e.Namespace] = e.Reign
		case News:
			news++
		}
	}
	if newest["0"] != 3*mostEvents-2 || newest["1"] != 3*mostEvents-1 || news != mostEvents/2 {
		t.Errorf("the newest suggestions are %v, and %d pieces of news are left", newest, news)
	}
	if missed := all[0].(Missed).Events; missed+len(all)-1 != puts {
		t.Errorf("%d came, %d are told, and %d are said to be missing", puts, len(all)-1, missed)
	}
	if rest := m.take(); len(rest) != 0 {
		t.Errorf("it has more: %v", rest)
	}
}
