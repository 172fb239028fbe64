package web_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// withBoard gives a world the board of a service that tells of the ships a and b.
func withBoard(w *world) *web.Board {
	b := web.NewBoard()
	b.Offer("ship", func(named string) (string, error) {
		if named = strings.ToLower(named); named != "a" && named != "b" {
			return "", web.Failf(http.StatusNotFound, "there is no ship %q", named).Named("unknown-ship", "Unknown ship")
		}
		return named, nil
	})
	w.cfg.Board = b
	return b
}

func of(ship string, n int) web.Notice {
	return web.Notice{Kind: "ship", Subject: ship, Data: map[string]any{"ship": ship, "n": n}}
}

// told reads the next event of a stream, without comments: its id, its name and its data. All are empty at the end.
func (s *stream) told() (id, event, data string) {
	for {
		line := s.line()
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "":
			return id, "", ""
		case name == "id":
			id = value
		case name == "event":
			event = value
		case name == "data":
			return id, event, value
		}
	}
}

// hears reads events of a stream and compares each with one wanted, "NAME DATA", where NAME is history without a name.
// It returns the last id.
func (s *stream) hears(want ...string) (last string) {
	s.t.Helper()
	var got []string
	for range want {
		id, event, data := s.told()
		if event == "" && data != "" {
			_, rest, _ := strings.Cut(data, `"id":`)
			event, data = "history", rest[:strings.IndexByte(rest, ',')]
		}
		if id != "" {
			last = id
		}
		got = append(got, event+" "+data)
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("the stream has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return last
}

func ship(name string, n int) string { return fmt.Sprintf(`ship {"n":%d,"ship":%q}`, n, name) }

func boarded(t *testing.T) (w *world, b *web.Board, ln net.Listener) {
	t.Helper()
	w = newWorld()
	w.add(1, "payments", "acquired")
	b, ln = withBoard(w), listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	return w, b, ln
}

// F8: notices of services come in the order in which they are told, among the events of the history. A client that
// reconnects gets what it missed of both, once.
func TestStreamHasNotices(t *testing.T) {
	t.Parallel()
	w, b, ln := boarded(t)
	s := follow(t, ln, "/v1/events")
	b.Tell(of("a", 1))
	s.hears(ship("a", 1))
	w.add(2, "payments", "drained")
	s.hears("history 2")
	b.Tell(of("b", 2))
	last := s.hears(ship("b", 2))
	s.close()
	b.Tell(of("a", 3))
	w.add(3, "zoo", "acquired")
	b.Tell(of("a", 4))
	again := follow(t, ln, "/v1/events", "Last-Event-ID: "+last)
	again.hears("history 3", ship("a", 3), ship("a", 4))
	b.Tell(of("a", 5))
	again.hears(ship("a", 5))
	only := follow(t, ln, "/v1/events?ship=A", "Last-Event-ID: "+last)
	only.hears(ship("a", 3), ship("a", 4), ship("a", 5))
}

// A client whose stream broke before it got an event resumes there too: it has the id of the place where it began.
func TestStreamResumesFromItsBeginning(t *testing.T) {
	t.Parallel()
	w, b, ln := boarded(t)
	b.Tell(of("a", 1))
	s := follow(t, ln, "/v1/events")
	begins, found := strings.CutPrefix(s.line(), "id: ")
	if !found {
		t.Fatal("the stream does not begin with an id")
	}
	s.close()
	w.add(2, "payments", "drained")
	b.Tell(of("a", 2))
	follow(t, ln, "/v1/events", "Last-Event-ID: "+begins).hears("history 2", ship("a", 2))
}

// It does also if nothing was told before it began: what was told meanwhile is at least a gap.
func TestStreamResumesFromASilentBeginning(t *testing.T) {
	t.Parallel()
	w, b, ln := boarded(t)
	s := follow(t, ln, "/v1/events")
	begins, found := strings.CutPrefix(s.line(), "id: ")
	if !found || begins != "1" {
		t.Fatalf("the stream begins with the id %q, want that of the history", begins)
	}
	s.close()
	w.add(2, "payments", "drained")
	b.Tell(of("a", 1))
	follow(t, ln, "/v1/events", "Last-Event-ID: "+begins).hears(`gap {"of":"ship","why":"the connection was to another process, or it was away too long"}`, "history 2")
}

// A stream of one subject has its notices, and those that concern all. It needs no database.
func TestStreamOfOneSubject(t *testing.T) {
	t.Parallel()
	w, b, ln := boarded(t)
	w.set(func() { w.err = webtest.ErrAway })
	s := follow(t, ln, "/v1/events?ship=A")
	b.Tell(of("b", 1))
	b.Tell(of("a", 2))
	b.Tell(web.Notice{Kind: "ship", Gap: "a storm"})
	b.Tell(web.Notice{Kind: "train", Data: 1})
	b.Tell(of("a", 3))
	s.hears(ship("a", 2), `gap {"of":"ship","why":"a storm"}`, ship("a", 3))
}

// A stream of a scope has no notices, and one of both has both.
func TestStreamOfAScopeAndASubject(t *testing.T) {
	t.Parallel()
	w, b, ln := boarded(t)
	scope, both := follow(t, ln, "/v1/events?scope=zoo"), follow(t, ln, "/v1/events?scope=zoo&ship=b")
	b.Tell(of("a", 1))
	b.Tell(of("b", 2))
	w.add(2, "payments", "drained")
	both.hears(ship("b", 2))
	w.add(3, "zoo", "acquired")
	both.hears("history 3")
	if last := scope.hears("history 3"); last != "3" {
		t.Errorf("the id is %q, want that of the history", last)
	}
}

// Nothing is missed silently: who comes from another process, from before the first notice, or was away too long, is told of
// a gap, once.
func TestStreamGapOfNotices(t *testing.T) {
	t.Parallel()
	w, b, ln := boarded(t)
	const gap = `gap {"of":"ship","why":"the connection was to another process, or it was away too long"}`
	plain := follow(t, ln, "/v1/events")
	w.add(2, "payments", "drained")
	before := plain.hears("history 2")
	if before != "2" {
		t.Errorf("the id is %q while nothing was told, want that of the history", before)
	}
	b.Tell(of("a", 1))
	for _, last := range []string{before, "2-elsewhere-7"} {
		s := follow(t, ln, "/v1/events", "Last-Event-ID: "+last)
		resumes := s.hears(gap)
		s.close()
		again := follow(t, ln, "/v1/events", "Last-Event-ID: "+resumes)
		b.Tell(of("a", 2))
		again.hears(ship("a", 2))
	}
	s := follow(t, ln, "/v1/events?ship=a")
	b.Tell(of("a", 3))
	last := s.hears(ship("a", 3))
	s.close()
	for n := range 40_000 {
		b.Tell(of("a", n))
	}
	late := follow(t, ln, "/v1/events?ship=a", "Last-Event-ID: "+last)
	late.hears(gap)
	b.Tell(of("a", 4))
	late.hears(ship("a", 4))
}

// A client that reads nothing is dropped, delays nobody, and gets the rest when it comes back.
func TestSlowStreamOfNotices(t *testing.T) {
	t.Parallel()
	_, b, ln := boarded(t)
	slow, quick := follow(t, ln, "/v1/events?ship=a"), follow(t, ln, "/v1/events?ship=b")
	const all = 12_000
	for n := range all {
		notice := of("a", n)
		notice.Data.(map[string]any)["cargo"] = strings.Repeat("x", 2000)
		b.Tell(notice)
	}
	b.Tell(of("b", 1))
	quick.hears(ship("b", 1))
	got, last, times := 0, "", 0
	for ; got < all && times < 100; times++ {
		for {
			id, event, data := slow.told()
			if event == "" {
				break
			}
			if want := fmt.Sprintf(`"n":%d,`, got); event != "ship" || !strings.Contains(data, want) {
				t.Fatalf("after %d notices came %s %.100s, want %s", got, event, data, want)
			}
			last = id
			if got++; got == all {
				break
			}
		}
		if got < all {
			slow = follow(t, ln, "/v1/events?ship=a", "Last-Event-ID: "+last)
		}
	}
	if got < all || times < 2 {
		t.Errorf("the slow client got %d of %d notices over %d streams, want all, over several", got, all, times)
	}
}

// Large notices are forgotten sooner: what a client can resume over is bounded by its bytes, too.
func TestLargeNotices(t *testing.T) {
	t.Parallel()
	_, b, ln := boarded(t)
	first := follow(t, ln, "/v1/events?ship=a")
	var early, late string
	for n := range 200 {
		notice := of("a", n)
		notice.Size = 1 << 20
		b.Tell(notice)
		id := first.hears(ship("a", n))
		switch n {
		case 10:
			early = id
		case 190:
			late = id
		}
	}
	follow(t, ln, "/v1/events?ship=a", "Last-Event-ID: "+early).hears(`gap {"of":"ship","why":"the connection was to another process, or it was away too long"}`)
	again := follow(t, ln, "/v1/events?ship=a", "Last-Event-ID: "+late)
	for n := 191; n < 200; n++ {
		again.hears(ship("a", n))
	}
}

// When a service tells no more, streams of its subjects end, and others go on.
func TestStreamEndsWithItsSubject(t *testing.T) {
	t.Parallel()
	w, b, ln := boarded(t)
	one, all := follow(t, ln, "/v1/events?ship=a"), follow(t, ln, "/v1/events")
	b.Tell(web.Notice{Kind: "ship", Gap: "the harbour is shut", Ends: true})
	one.hears(`gap {"of":"ship","why":"the harbour is shut"}`)
	if rest := one.line(); rest != "" {
		t.Errorf("the stream of one goes on with %q", rest)
	}
	all.hears(`gap {"of":"ship","why":"the harbour is shut"}`)
	w.add(2, "payments", "drained")
	all.hears("history 2")
}
