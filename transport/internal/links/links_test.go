package links_test

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/internal/links"
)

func said(l *links.Log) (all string) {
	for _, link := range l.Links() {
		all += map[bool]string{true: "+", false: "-"}[link.Up] + link.Peer
	}
	return all
}

func TestALogOfLinks(t *testing.T) {
	t.Parallel()
	l := links.New()
	add := func(peer string, up, asked bool) { l.Add(transport.Link{Peer: peer, Up: up}, asked) }
	add("a", true, true)
	add("a", false, false)
	add("a", true, false)
	add("b", false, true)
	if len(l.Changed()) != 1 {
		t.Error("nobody is told that there is something to read")
	}
	l.Forget("b")
	if got := said(l); got != "+a-a+a" {
		t.Errorf("read %s, want all of a in order and none of b", got)
	}
	if got := said(l); got != "" {
		t.Errorf("read %s twice", got)
	}
}

// While nobody reads, peers that come and go unasked leave nothing behind; each question is answered all the same, and what
// is left is by turns.
func TestALogThatNobodyReads(t *testing.T) {
	t.Parallel()
	l := links.New()
	add := func(peer string, up, asked bool) { l.Add(transport.Link{Peer: peer, Up: up}, asked) }
	add("told", false, false) // it was up, and the user knows
	for i := range 1023 {
		add(fmt.Sprint("x", i), true, false)
	}
	for i := range 5_000 {
		guest := fmt.Sprint("g", i)
		add(guest, true, false)
		add(guest, false, false)
		add("told", true, false)
		add("told", false, false)
	}
	add("asked", true, true)
	add("asked", false, false)
	add("asked", true, false)
	add("asked", false, false)
	all := l.Links()
	if len(all) != 1025 || all[0].Peer != "told" || all[0].Up || all[1024].Peer != "asked" || all[1024].Up {
		t.Errorf("%d links, from %+v to %+v; want Down of told, 1023 guests, and Down of asked", len(all), all[0], all[len(all)-1])
	}
}

// A Connect that fails before the user has read that an earlier connection is gone takes that word with it from no log, however full.
func TestAFullLogKeepsAnEnd(t *testing.T) {
	t.Parallel()
	l := links.New()
	for i := range 1024 {
		l.Add(transport.Link{Peer: fmt.Sprint("x", i), Up: true}, false)
	}
	l.Add(transport.Link{Peer: "told"}, false) // it was up, and the user knows
	l.Add(transport.Link{Peer: "told"}, true)  // the user has called it since
	all := l.Links()
	if last := all[len(all)-1]; len(all) != 1025 || last.Peer != "told" || last.Up {
		t.Errorf("%d links, the last one %+v; want 1025, and that told is down", len(all), last)
	}
}
