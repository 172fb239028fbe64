package web

import "testing"

// One log has so many entries that the newest notices are all of it. A stream of another one, of which little is told, is resumed without a
// gap; one of the first log, or of all, has one, and so has one that has missed what concerns all of a kind.
func TestAGapIsOfItsSubject(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	tell := func(times int, n Notice) {
		for range times {
			b.Tell(n)
		}
	}
	tell(1, Notice{Kind: "entry", Subject: "calm"})
	after := place{run: b.run, notice: b.number}
	tell(1, Notice{Kind: "entry", Subject: "other"})
	tell(3*boardRing, Notice{Kind: "entry", Subject: "busy"})
	tell(1, Notice{Kind: "entry", Subject: "calm"})
	for c, want := range map[choice]bool{{"entry", "calm"}: false, {"entry", "other"}: true, {"entry", "busy"}: true, {}: true, {"leader", "calm"}: false} {
		r, missed, gap, _ := b.join(c, true, after)
		b.leave(r)
		if gap != want || !gap && c.kind == "entry" && len(missed) != 1 {
			t.Errorf("%+v: a gap %v, want %v, and %d missed", c, gap, want, len(missed))
		}
	}
	tell(1, Notice{Kind: "entry"})
	tell(3*boardRing, Notice{Kind: "entry", Subject: "busy"})
	if _, _, gap, _ := b.join(choice{"entry", "calm"}, true, after); !gap {
		t.Error("what concerns all is missed without a gap")
	}
}
