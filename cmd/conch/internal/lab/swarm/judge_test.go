package swarm

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	msec = time.Millisecond
	sec  = time.Second
)

var timing = Timing{Round: 100 * msec, Validity: 800 * msec, Believed: 8 * sec, Relays: 4, Settle: 10 * sec}

// story is a run of five nodes, of which a, b and c are electors: a leads, is killed and replaced by b, and is started again;
// then c and e are cut off from b for ten seconds. It ends well.
func story() Record {
	r := Record{
		Nodes: 5, Electors: 3, Timing: timing, Ended: 50 * sec, Began: 200 * msec,
		Lives: []Life{{"a", 0, 2 * sec}, {"b", 0, 0}, {"c", 0, 0}, {"d", 100 * msec, 0}, {"e", 620 * msec, 0}, {"a", 4 * sec, 0}},
		Kills: []Kill{{0, 2 * sec}},
		Cuts:  []Cut{{map[string]bool{"c": true, "e": true}, 10 * sec, 20 * sec}},
		Views: []View{
			{0, 500 * msec, "a", 1}, {1, 510 * msec, "a", 1}, {2, 520 * msec, "a", 1}, {3, 600 * msec, "a", 1}, {4, 650 * msec, "a", 1},
			{1, 2600 * msec, "b", 2}, {2, 2610 * msec, "b", 2}, {3, 2700 * msec, "", 1}, {3, 2800 * msec, "b", 2}, {4, 2900 * msec, "b", 2},
			{5, 4500 * msec, "b", 2},
			{2, 11 * sec, "", 2}, {4, 18200 * msec, "", 2}, {2, 20400 * msec, "b", 2}, {4, 20600 * msec, "b", 2},
		},
	}
	tell := func(topic string, life int, at time.Duration, delays ...time.Duration) {
		r.Pieces = append(r.Pieces, Piece{topic, life, at})
		for hearer, after := range delays {
			if after > 0 {
				r.Heard = append(r.Heard, Heard{hearer, topic, at + after})
			}
		}
	}
	tell("one", 2, 30*sec, 0, 10*msec, 0, 20*msec, 30*msec, 40*msec)
	tell("before the cut", 3, 9*sec, 0, 5*msec, 0, 0, 0, 5*msec) // c and e need not hear it
	tell("too late", 3, 45*sec)
	return r
}

func TestARunThatEndsWell(t *testing.T) {
	t.Parallel()
	v := Judge(story())
	if v.Fault() != nil || len(v.Violations) > 0 {
		t.Fatalf("the verdict is %+v, want no violation", v)
	}
	got := []any{v.Cold, v.ColdRounds, v.Replaced.Max, v.Replaced.Samples(), v.Silent.Max, v.Healed.Max, v.News, v.Heard, v.NewsTook.Max, v.TwoNamed, v.TwoLed, v.Leader}
	want := []any{450.0, 4.5, 900.0, 1, 8200.0, 600.0, 3, 6, 40.0, 300.0, 0.0, "b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	text, err := json.Marshal(v)
	if err != nil || !strings.Contains(string(text), `"violations":[]`) {
		t.Errorf("the document is %s, %v; want an empty list of violations", text, err)
	}
}

// Each fault that a run can show is a violation that says who and what. B18, B19.
func TestWhatAJudgeFinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		does func(*Record)
		says string // of each violation, one a line; empty: there is none
	}{
		{"a leader that works is deposed", func(r *Record) {
			r.Views = append(r.Views, View{1, 40 * sec, "c", 3}, View{2, 40 * sec, "c", 3}, View{3, 40 * sec, "c", 3}, View{4, 40 * sec, "c", 3}, View{5, 40 * sec, "c", 3})
		}, "b led and worked, and at 40s named c in reign 3"},
		{"a leader that works gives up", func(r *Record) {
			r.Views = append(r.Views, View{1, 40 * sec, "", 2}, View{1, 41 * sec, "b", 2})
		}, "b led and worked, and at 40s named nobody"},
		{"a leader that is cut off gives up, as it has to", func(r *Record) {
			r.Cuts[0].Side = map[string]bool{"b": true, "e": true}
			r.Views = slices.DeleteFunc(r.Views, func(v View) bool { return v.Life == 2 && v.At > 10*sec })
			r.Views = append(r.Views, View{1, 10900 * msec, "", 2}, View{2, 11 * sec, "c", 3}, View{3, 11 * sec, "c", 3}, View{5, 11 * sec, "c", 3},
				View{1, 20400 * msec, "c", 3}, View{4, 20601 * msec, "c", 3})
			r.Heard = append(r.Heard, Heard{2, "before the cut", 9500 * msec})
		}, ""},
		{"a leader that was cut off gives up when it can", func(r *Record) {
			r.Cuts[0] = Cut{map[string]bool{"b": true, "e": true}, 10 * sec, 11 * sec}
			r.Views = slices.DeleteFunc(r.Views, func(v View) bool { return v.At > 10*sec })
			r.Views = append(r.Views, View{2, 10600 * msec, "c", 3}, View{3, 10600 * msec, "c", 3}, View{5, 10600 * msec, "c", 3},
				View{1, 11100 * msec, "", 2}, View{1, 11200 * msec, "c", 3}, View{4, 11200 * msec, "c", 3})
			r.Heard = append(r.Heard, Heard{2, "before the cut", 9500 * msec})
		}, ""},
		{"two have led before all agreed", func(r *Record) {
			r.Views = append(r.Views, View{2, 300 * msec, "c", 1})
		}, ""},
		{"two lead for long", func(r *Record) {
			r.Views = append(r.Views, View{2, 30 * sec, "c", 2}, View{2, 31 * sec, "b", 2})
		}, "two led at one time for 1s, longer than a validity (800ms)"},
		{"the machine is slow", func(r *Record) {
			r.Views = append(r.Views, View{2, 30 * sec, "c", 2}, View{2, 31 * sec, "b", 2})
			r.Late = 300 * msec
		}, ""},
		{"two are named for long", func(r *Record) {
			r.Views = append(r.Views, View{3, 30 * sec, "x", 1}, View{3, 38001 * msec, "b", 2})
		}, "two leaders were named for 8.001s"},
		{"two are named for long, since each relay was late", func(r *Record) {
			r.Views = append(r.Views, View{3, 30 * sec, "x", 1}, View{3, 38500 * msec, "b", 2})
			r.Late = 100 * msec
		}, ""},
		{"two are named for longer than late relays explain", func(r *Record) {
			r.Views = append(r.Views, View{3, 30 * sec, "x", 1}, View{3, 38501 * msec, "b", 2})
			r.Late = 100 * msec
		}, "two leaders were named for 8.501s, longer than a node may believe in one that it does not hear (8.5s)"},
		{"two are named to the end", func(r *Record) {
			r.Views = append(r.Views, View{3, 45 * sec, "x", 1})
		}, "in the end the nodes do not agree: 4 name b, 1 name x"},
		{"somebody names nobody in the end", func(r *Record) {
			r.Views = append(r.Views, View{3, 45 * sec, "", 1})
		}, "in the end the nodes do not agree: 4 name b, 1 name nobody"},
		{"a view of a dead process comes late", func(r *Record) {
			r.Views = append(r.Views, View{0, 2500 * msec, "", 1})
		}, ""},
		{"a node never replaces the dead leader", func(r *Record) {
			r.Views = slices.DeleteFunc(r.Views, func(v View) bool { return v.Life == 3 && v.At > 2*sec })
			r.Views = append(r.Views, View{3, 3 * sec, "", 0})
		}, "in the end the nodes do not agree: 4 name b, 1 name nobody\na was killed at 2s, and d never named another"},
		{"a node that dies needs not replace it", func(r *Record) {
			r.Views = slices.DeleteFunc(r.Views, func(v View) bool { return v.Life == 3 && v.At > 2*sec })
			r.Lives[3].To = 3 * sec
			r.Lives = append(r.Lives, Life{"d", 5 * sec, 0})
			r.Views = append(r.Views, View{6, 6 * sec, "b", 2})
			r.Heard = append(r.Heard, Heard{6, "one", 31 * sec})
		}, ""},
		{"a side without a majority believes for ever", func(r *Record) {
			r.Views = slices.DeleteFunc(r.Views, func(v View) bool { return v.Life == 4 && v.At > 10*sec })
		}, "e was cut off from most of the electors for 10s, and named b to the end"},
		{"a short cut", func(r *Record) {
			r.Views = slices.DeleteFunc(r.Views, func(v View) bool { return v.Life == 4 && v.At > 10*sec })
			r.Cuts[0].To = 18 * sec
		}, ""},
		{"a process ends by itself", func(r *Record) {
			r.Lives[3].To = 46 * sec
			r.Falls = []Fall{{3, 46 * sec, "panic: no"}}
		}, "d ended by itself at 46s: panic: no"},
		{"nobody agrees at all", func(r *Record) { r.Views, r.Kills, r.Cuts, r.Pieces = nil, nil, nil, nil }, "never named one leader"},
		{"news is lost", func(r *Record) {
			r.Heard = slices.DeleteFunc(r.Heard, func(h Heard) bool { return h.Topic == "one" && h.Life != 1 })
		}, `"one" of c was never heard by d, e, a`},
		{"news is doubled", func(r *Record) { r.Heard = append(r.Heard, Heard{4, "one", 31 * sec}) }, `e heard "one" twice`},
		{"news is heard by another process of the node", func(r *Record) { r.Heard = append(r.Heard, Heard{0, "one", 31 * sec}) }, ""},
		{"the publisher dies", func(r *Record) {
			r.Pieces = append(r.Pieces, Piece{"dying", 0, 1900 * msec})
		}, ""},
		{"the hearer dies", func(r *Record) {
			r.Heard = slices.DeleteFunc(r.Heard, func(h Heard) bool { return h.Topic == "one" && h.Life == 4 })
			r.Lives[4].To = 39 * sec
			r.Lives = append(r.Lives, Life{"e", 41 * sec, 0})
			r.Views = append(r.Views, View{6, 42 * sec, "b", 2})
		}, ""},
		{"the hearer comes later", func(r *Record) {
			r.Lives[5].From = 31 * sec
			r.Heard = slices.DeleteFunc(r.Heard, func(h Heard) bool { return h.Life == 5 })
			r.Views[10].At = 31500 * msec
		}, ""},
		{"the hearer is there and not connected yet", func(r *Record) {
			r.Heard = slices.DeleteFunc(r.Heard, func(h Heard) bool { return h.Life == 5 })
			r.Views[10].At = 30500 * msec
		}, ""},
		{"news is lost on one side of the cut", func(r *Record) {
			r.Pieces = append(r.Pieces, Piece{"aside", 2, 12 * sec})
		}, `"aside" of c was never heard by e`},
		{"news is lost before the cut", func(r *Record) {
			r.Pieces[1].Life = 2
			r.Heard = slices.DeleteFunc(r.Heard, func(h Heard) bool { return h.Topic == "before the cut" })
		}, `"before the cut" of c was never heard by e`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := story()
			c.does(&r)
			v := Judge(r)
			want := strings.Split(c.says, "\n")
			if c.says == "" {
				want = nil
			}
			if !slices.EqualFunc(v.Violations, want, strings.Contains) || (v.Fault() == nil) != (want == nil) {
				t.Errorf("found %q and the fault %v, want %q alone", v.Violations, v.Fault(), want)
			}
		})
	}
}

func TestARunThatShowsNothing(t *testing.T) {
	t.Parallel()
	r := story()
	r.Kills = nil
	if v := Judge(r); v.Fault() == nil || len(v.Violations) > 0 {
		t.Errorf("the verdict is %v with %q, want a fault: nobody was killed", v.Fault(), v.Violations)
	}
}
