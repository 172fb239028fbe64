package stage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

const ms1 = fence.Instant(time.Millisecond)

// acts returns acts of one node, one every 5 ms.
func acts(node string, from, to fence.Instant) (all []act) {
	for at := from; at <= to; at += 5 * ms1 {
		all = append(all, act{Node: node, Start: at, End: at})
	}
	return all
}

// left returns evidence that was written to a file and read in two halves.
func left(t *testing.T, all ...act) *evidence {
	t.Helper()
	e := &evidence{dir: t.TempDir()}
	var text []byte
	for _, a := range all {
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	path := filepath.Join(e.dir, actsFile)
	for _, end := range []int{len(text) / 2, len(text)} {
		if err := os.WriteFile(path, text[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := e.read(); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.acts) != len(all) {
		t.Fatalf("read %d acts, want %d", len(e.acts), len(all))
	}
	return e
}

func TestAcknowledgementsAreActs(t *testing.T) {
	t.Parallel()
	e := &evidence{dir: t.TempDir(), acks: true}
	if err := os.WriteFile(filepath.Join(e.dir, "one.acks"), []byte(`{"seq":1,"at":7}`+"\n"+`{"seq":2,"at":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.read(); err != nil || len(e.acts) != 1 || e.acts[0].Node != "one" || e.acts[0].End != 7 {
		t.Errorf("got %+v, %v; want one act of node one at 7", e.acts, err)
	}
}

func TestLeading(t *testing.T) {
	t.Parallel()
	now := 1000 * ms1
	for name, c := range map[string]struct {
		acts []act
		want string
	}{
		"nobody":             {nil, ""},
		"one":                {acts("one", 0, now), "one"},
		"not any more":       {acts("one", 0, now-201*ms1), ""},
		"not for long":       {acts("one", now-95*ms1, now), ""},
		"after another":      {append(acts("one", 0, 700*ms1), acts("two", 750*ms1, now)...), "two"},
		"beside another":     {append(acts("one", 0, now), acts("two", 750*ms1, now)...), ""},
		"right after":        {append(acts("one", 0, 850*ms1), acts("two", 860*ms1, now)...), ""},
		"with a single stop": {append(acts("one", 0, 820*ms1), acts("one", now-50*ms1, now)...), "one"},
	} {
		if got := left(t, c.acts...).leading(now); got != c.want {
			t.Errorf("%s: %q leads, want %q", name, got, c.want)
		}
	}
}

// The old leader's acts beside the new one do not count in the length of a clean handover, but they
// are counted as zombies.
func TestAnOverlapAtAHandoverIsSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beside []act
		want   string
	}{
		"clean":                 {nil, "0 in 0 of 1"},
		"one act":               {acts("one", 133*ms1, 133*ms1), "1 in 1 of 1"},
		"on and on":             {acts("one", 131*ms1, 201*ms1), "15 in 1 of 1"},
		"one that began before": {[]act{{Node: "one", Start: 99 * ms1, End: 140 * ms1}}, "1 in 1 of 1"},
	} {
		e := left(t, append(append(acts("one", 0, 110*ms1), acts("two", 130*ms1, 300*ms1)...), c.beside...)...)
		first, found := e.firstOther("one", 100*ms1)
		if !found || first.Start != 130*ms1 {
			t.Fatalf("the first act of another node: got %v, %t; want 130 ms", first, found)
		}
		var r Result
		e.handover(&r, "one", 100*ms1, first.Start, true)
		if len(r.Handoff.All) != 1 || r.Handoff.All[0] != 20 || r.HandoffZombies.String() != c.want {
			t.Errorf("%s: got a handover of %v ms and the zombies %s, want 20 and %s", name, r.Handoff.All, r.HandoffZombies.String(), c.want)
		}
	}
	var r Result
	left(t, acts("one", 0, 100*ms1)...).handover(&r, "one", 50*ms1, 0, false)
	if r.Handoff.Never != 1 || r.HandoffZombies.String() != "-" {
		t.Errorf("without a successor: got %+v, want one never and no zombies", r)
	}
}

func TestZombiesAfterAFault(t *testing.T) {
	t.Parallel()
	e := left(t, append(append(acts("one", 0, 100*ms1), acts("two", 130*ms1, 300*ms1)...), acts("one", 151*ms1, 171*ms1)...)...)
	if n := e.zombies("one", 130*ms1, 200*ms1); n != 5 {
		t.Errorf("got %d acts, want 5", n)
	}
	if n := e.zombies("one", 130*ms1, 160*ms1); n != 2 {
		t.Errorf("got %d acts until 160 ms, want 2", n)
	}
	var z Zombies
	z.add(5)
	z.add(0)
	if z.String() != "5 in 1 of 2" {
		t.Errorf("got %s, want 5 in 1 of 2", z.String())
	}
}
