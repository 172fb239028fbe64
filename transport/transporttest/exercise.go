// Package transporttest is the conformance suite of transports.
package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
)

// patience bounds each wait for a message.
const patience = 10 * time.Second

// Open makes a network without faults of nodes with these names.
type Open func(t *testing.T, names ...string) map[string]transport.Endpoint

// Exercise runs the suite.
func Exercise(t *testing.T, open Open) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Open){
		"MessagesArrive":         messagesArrive,
		"SubjectsAreApart":       subjectsAreApart,
		"BodiesAreCopied":        bodiesAreCopied,
		"WhatIsRefused":          whatIsRefused,
		"AFullInboxHoldsUpNoOne": aFullInboxHoldsUpNoOne,
		"AClosedLineIsSilent":    aClosedLineIsSilent,
		"TheLargestBody":         theLargestBody,
		"ClaimsAreRead":          claimsAreRead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open)
		})
	}
}

func line(t *testing.T, e transport.Endpoint, subject string) transport.Line {
	t.Helper()
	l, err := e.Open(subject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func send(t *testing.T, l transport.Line, to string, body []byte) {
	t.Helper()
	if err := l.Send(to, body); err != nil {
		t.Fatalf("to %s: %v", to, err)
	}
}

// receive waits for a message.
func receive(t *testing.T, l transport.Line) transport.Envelope {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case e := <-l.Inbox():
		return e
	case <-late.C:
		t.Fatalf("no message within %v", patience)
	}
	return transport.Envelope{}
}

func messagesArrive(t *testing.T, open Open) {
	nodes := open(t, "a", "b", "c")
	lines := map[string]transport.Line{}
	for name, e := range nodes {
		if lines[name] = line(t, e, "s"); e.Self() != name {
			t.Errorf("%s calls itself %s", name, e.Self())
		}
	}
	if peers := nodes["b"].Peers(); !slices.Equal(peers, []string{"a", "c"}) {
		t.Errorf("b knows %q, want a and c", peers)
	}
	for _, to := range []string{"a", "b", "c"} {
		for _, from := range []string{"a", "b", "c"} {
			if from == to {
				continue
			}
			send(t, lines[from], to, []byte(from+" to "+to))
			if e := receive(t, lines[to]); e.From != from || e.Subject != "s" || string(e.Body) != from+" to "+to {
				t.Errorf("%s received %+v, want the message of %s", to, e, from)
			}
		}
	}
}

func subjectsAreApart(t *testing.T, open Open) {
	nodes := open(t, "a", "b")
	one, two := line(t, nodes["a"], "one"), line(t, nodes["a"], "two")
	far, away := line(t, nodes["b"], "one"), line(t, nodes["b"], "two")
	send(t, one, "b", []byte("1"))
	send(t, two, "b", []byte("2"))
	if e := receive(t, away); e.Subject != "two" || string(e.Body) != "2" {
		t.Errorf("got %+v on the second subject", e)
	}
	if e := receive(t, far); e.Subject != "one" || string(e.Body) != "1" {
		t.Errorf("got %+v on the first subject", e)
	}
	if _, err := nodes["a"].Open("one"); !errors.Is(err, transport.ErrTaken) {
		t.Errorf("a second line of a subject: got error %v, want ErrTaken", err)
	}
	one.Close()
	again := line(t, nodes["a"], "one")
	send(t, far, "a", []byte("3"))
	if e := receive(t, again); string(e.Body) != "3" {
		t.Errorf("got %+v on the line that was opened again", e)
	}
}

func bodiesAreCopied(t *testing.T, open Open) {
	nodes := open(t, "a", "b")
	from, to := line(t, nodes["a"], "s"), line(t, nodes["b"], "s")
	body := []byte("as it was")
	send(t, from, "b", body)
	copy(body, "changed!!")
	if e := receive(t, to); string(e.Body) != "as it was" {
		t.Errorf("received %q, want what was sent", e.Body)
	}
}

func whatIsRefused(t *testing.T, open Open) {
	nodes := open(t, "a", "b")
	from := line(t, nodes["a"], "s")
	if err := from.Send("nobody", nil); !errors.Is(err, transport.ErrPeer) {
		t.Errorf("to nobody: got error %v, want ErrPeer", err)
	}
	if err := from.Send("b", make([]byte, transport.MostBody+1)); !errors.Is(err, transport.ErrBody) {
		t.Errorf("too large: got error %v, want ErrBody", err)
	}
	send(t, from, "b", []byte("nobody reads this subject"))
}

// A reader that does not read loses messages, and nobody else does.
func aFullInboxHoldsUpNoOne(t *testing.T, open Open) {
	nodes := open(t, "a", "b", "c")
	from, idle, busy := line(t, nodes["a"], "s"), line(t, nodes["b"], "s"), line(t, nodes["c"], "s")
	const many = 5000
	full := 0
	for i := range many {
		if err := from.Send("b", fmt.Append(nil, i)); errors.Is(err, transport.ErrFull) {
			full++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	send(t, from, "c", []byte("quick"))
	if e := receive(t, busy); string(e.Body) != "quick" {
		t.Errorf("got %q, want the message beside the flood", e.Body)
	}
	if e := receive(t, idle); string(e.Body) != "0" {
		t.Errorf("the first one to the reader that slept is %q, want 0", e.Body)
	}
	arrived, late, look := 1, time.NewTimer(patience), time.NewTicker(time.Millisecond)
	defer late.Stop()
	defer look.Stop()
	for arrived+full+int(idle.Dropped()) < many {
		select {
		case <-idle.Inbox():
			arrived++
		case <-look.C: // the last ones may have been dropped
		case <-late.C:
			t.Fatalf("of %d messages %d were refused, %d arrived and %d were dropped, and nobody says what became of the rest", many, full, arrived, idle.Dropped())
		}
	}
}

func aClosedLineIsSilent(t *testing.T, open Open) {
	nodes := open(t, "a", "b")
	from, to := line(t, nodes["a"], "s"), line(t, nodes["b"], "s")
	to.Close()
	to.Close()
	if err := to.Send("a", nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("over a closed line: got error %v, want ErrClosed", err)
	}
	send(t, from, "b", []byte("into the void"))
	other := line(t, nodes["b"], "s")
	send(t, from, "b", []byte("heard"))
	for {
		e := receive(t, other)
		if string(e.Body) == "heard" {
			break
		}
	}
	if len(to.Inbox()) > 0 {
		t.Error("a message arrived on a closed line")
	}
}

func theLargestBody(t *testing.T, open Open) {
	nodes := open(t, "a", "b")
	from, to := line(t, nodes["a"], "s"), line(t, nodes["b"], "s")
	body := bytes.Repeat([]byte{7}, transport.MostBody)
	send(t, from, "b", body)
	if e := receive(t, to); !bytes.Equal(e.Body, body) {
		t.Errorf("received %d bytes, want the %d that were sent", len(e.Body), len(body))
	}
}

// What a node claims is read by its peers, also when it changes.
func claimsAreRead(t *testing.T, open Open) {
	nodes := open(t, "a", "b")
	a, ok := nodes["a"].(transport.Claimer)
	b, too := nodes["b"].(transport.Claimer)
	if !ok || !too {
		t.Skip("the endpoints carry no claims")
	}
	read := func(subject, want string) {
		t.Helper()
		late, look := time.NewTimer(patience), time.NewTicker(time.Millisecond)
		defer late.Stop()
		defer look.Stop()
		for {
			claims, heard := b.Claimed("a", subject)
			if got := fmt.Sprintf("%s", map[string][]byte(claims)); heard && got == want {
				for _, value := range claims {
					clear(value) // the reader's own
				}
				return
			}
			select {
			case <-look.C:
			case <-late.C:
				t.Fatalf("b reads %q of a, heard %v; want %s", claims, heard, want)
			}
		}
	}
	read("s", "map[]")
	value := []byte("1")
	for _, claims := range []transport.Claims{{"k": value}, {"k": []byte("2"), "l": nil}, nil} {
		if err := a.Claim("s", claims); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s", map[string][]byte(claims.Clone()))
		value[0] = 'X' // the endpoint has a copy
		read("s", want)
		read("s", want)
		read("other", "map[]")
	}
	if _, heard := b.Claimed("nobody", "s"); heard {
		t.Error("nobody was heard")
	}
}
