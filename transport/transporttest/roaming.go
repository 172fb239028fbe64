package transporttest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
)

// Roamer is a node of a network in which nobody is connected at first.
type Roamer struct {
	transport.Roamer
	Address string   // at which it listens
	Key     [32]byte // that it proves
	Kill    func()   // ends it, as the death of its process would
}

// OpenRoaming makes a network without faults of nodes with these names.
type OpenRoaming func(t *testing.T, names ...string) map[string]Roamer

// ExerciseRoaming runs the suite of transport.Roamer, and Exercise on nodes that are connected with each other.
func ExerciseRoaming(t *testing.T, open OpenRoaming) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, OpenRoaming){
		"ConnectedAsBothSay":     connectedAsBothSay,
		"NobodyIsConnectedYet":   nobodyIsConnectedYet,
		"AConnectThatFails":      aConnectThatFails,
		"AGoodbyeArrives":        aGoodbyeArrives,
		"AfterADisconnect":       afterADisconnect,
		"BothDisconnect":         bothDisconnect,
		"ACallIsTakenBack":       aCallIsTakenBack,
		"BothConnectAtOnce":      bothConnectAtOnce,
		"AnUpPrecedesMessages":   anUpPrecedesMessages,
		"ADeathIsSaid":           aDeathIsSaid,
		"OneWhoConnectsToItself": oneWhoConnectsToItself,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open)
		})
	}
	t.Run("AsAnyOther", func(t *testing.T) {
		t.Parallel()
		Exercise(t, func(t *testing.T, names ...string) map[string]transport.Endpoint {
			t.Helper()
			all, nodes := map[string]transport.Endpoint{}, watch(t, open(t, names...))
			for _, a := range names {
				for _, b := range names {
					if a < b {
						nodes[a].meet(nodes[b])
					}
				}
				all[a] = nodes[a].Roamer
			}
			return all
		})
	})
}

func connectedAsBothSay(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b", "c"))
	a, b := nodes["a"], nodes["b"]
	at, there := line(t, a, "s"), line(t, b, "s")
	a.meet(b)
	for _, end := range []struct{ w, other *watched }{{a, b}, {b, a}} {
		if got := end.w.Peers(); !slices.Equal(got, []string{end.other.Self()}) {
			t.Errorf("%s is connected with %q, want the other one", end.w.Self(), got)
		}
		if end.w.keys[end.other.Self()] != end.other.Key {
			t.Errorf("%s was told the key %x, want %x", end.w.Self(), end.w.keys[end.other.Self()], end.other.Key)
		}
	}
	send(t, at, "b", []byte("there"))
	send(t, there, "a", []byte("back"))
	if one, two := receive(t, there), receive(t, at); string(one.Body) != "there" || one.From != "a" || string(two.Body) != "back" || two.From != "b" {
		t.Errorf("got %+v and %+v", one, two)
	}
	a.Connect(b) // changes nothing
	b.Connect(a)
	send(t, at, "b", []byte("again"))
	if e := receive(t, there); string(e.Body) != "again" {
		t.Errorf("got %q, want it over the connection that stood", e.Body)
	}
	a.read()
	b.read()
	if a.said() != "Up b" || b.said() != "Up a" {
		t.Errorf("a was told %q and b %q, want one Up each", a.said(), b.said())
	}
}

func nobodyIsConnectedYet(t *testing.T, open OpenRoaming) {
	nodes := open(t, "a", "b")
	at := line(t, nodes["a"], "s")
	if peers := nodes["a"].Peers(); len(peers) > 0 {
		t.Errorf("a is connected with %q, want nobody", peers)
	}
	if err := at.Send("b", nil); !errors.Is(err, transport.ErrPeer) {
		t.Errorf("got error %v, want ErrPeer", err)
	}
	if links := nodes["a"].Links(); len(links) > 0 {
		t.Errorf("a was told %v, want nothing", links)
	}
	nodes["a"].Disconnect("b")
	nodes["a"].Disconnect("nobody")
}

// A peer that is dead, and an address at which somebody else listens.
func aConnectThatFails(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b", "c"))
	a, b, c := nodes["a"], nodes["b"], nodes["c"]
	c.Kill()
	a.Connect(c)
	a.sees("c", "")
	c.Address = b.Address
	a.Connect(c)
	a.sees("c", "")
	a.meet(b)
	if got := a.said(); got != "Down c, Down c, Up b" {
		t.Errorf("a was told %q", got)
	}
	if got := b.said(); got != "Up a" {
		t.Errorf("b was told %q, want nothing of who has called somebody else", got)
	}
}

// What was sent before a Disconnect arrives.
func aGoodbyeArrives(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b"))
	a, b := nodes["a"], nodes["b"]
	lines := map[*watched]transport.Line{a: line(t, a, "s"), b: line(t, b, "s")}
	for i := range 20 { // who has dialled must make no difference
		from, to := a, b
		if i%2 > 0 {
			from, to = b, a
		}
		a.meet(b)
		for j := range 10 {
			send(t, lines[from], to.Self(), fmt.Append(nil, i, j))
		}
		from.Disconnect(to)
		if err := lines[from].Send(to.Self(), nil); !errors.Is(err, transport.ErrPeer) {
			t.Errorf("after a Disconnect: got error %v, want ErrPeer", err)
		}
		for j := range 10 {
			if e := receive(t, lines[to]); string(e.Body) != fmt.Sprint(i, j) {
				t.Fatalf("got %q, want %d %d", e.Body, i, j)
			}
		}
		to.sees(from.Self(), "")
	}
}

// The side that ends a connection is told nothing, the other one is told once, and either may connect again.
func afterADisconnect(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b"))
	a, b := nodes["a"], nodes["b"]
	a.meet(b)
	for _, by := range []struct{ who, next *watched }{{a, a}, {a, b}, {b, a}, {b, b}} {
		other := a
		if by.who == a {
			other = b
		}
		by.who.Disconnect(other)
		if peers := by.who.Peers(); len(peers) > 0 {
			t.Errorf("after its Disconnect %s is connected with %q", by.who.Self(), peers)
		}
		if by.next == other {
			other.sees(by.who.Self(), "")
		}
		if by.next == a { // without a pause: the other side may not have noticed
			a.meet(b)
		} else {
			b.meet(a)
		}
		line, back := line(t, a, "s"), line(t, b, "s")
		send(t, line, "b", []byte("there"))
		_ = receive(t, back)
		line.Close()
		back.Close()
	}
	a.read()
	b.read()
	if a.said() != "Up b, Up b, Up b, Down b, Up b, Down b, Up b" || b.said() != "Up a, Down a, Up a, Down a, Up a, Up a, Up a" {
		t.Errorf("a was told %q,\nb %q", a.said(), b.said())
	}
}

func bothDisconnect(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b"))
	a, b := nodes["a"], nodes["b"]
	for range 20 {
		a.meet(b)
		var both sync.WaitGroup
		both.Go(func() { a.Disconnect(b) })
		both.Go(func() { b.Disconnect(a) })
		both.Wait()
	}
	a.read()
	b.read()
	if len(a.Peers())+len(b.Peers()) > 0 {
		t.Errorf("they are connected with %q and %q", a.Peers(), b.Peers())
	}
}

// A Disconnect takes a call back at any moment; what becomes of the next one shows that nothing of it is left.
func aCallIsTakenBack(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b"))
	a, b := nodes["a"], nodes["b"]
	for i := range 50 {
		a.Connect(b)
		<-time.After(time.Duration(i) * 100 * time.Microsecond) // nothing is waited for: any moment has to do
		a.Disconnect(b)
		if links := a.Links(); len(links) > 0 {
			t.Fatalf("after its Disconnect a was told %v", links)
		}
		b.read()
	}
	b.sees("a", "")
	a.meet(b)
}

// Both connect at the same moment, and send at once: one connection is left, and each is told so once.
func bothConnectAtOnce(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b"))
	BothConnectAtOnce(t, nodes["a"].Roamer, nodes["b"].Roamer, 50, nil)
}

// BothConnectAtOnce connects two nodes from both sides so many times, and sends messages over each connection as soon as it is
// up. It calls settled each time while the connection stands.
func BothConnectAtOnce(t *testing.T, one, two Roamer, times int, settled func()) {
	t.Helper()
	nodes := watch(t, map[string]Roamer{one.Self(): one, two.Self(): two})
	a, b := nodes[one.Self()], nodes[two.Self()]
	at, there := line(t, a, "s"), line(t, b, "s")
	for i := range times {
		var both sync.WaitGroup
		for _, end := range []struct {
			w, other *watched
			l        transport.Line
		}{{a, b, at}, {b, a, there}} {
			both.Go(func() {
				end.w.Connect(end.other)
				if !end.w.saw(end.other.Self(), "up") {
					return
				}
				for j := range 5 {
					if err := end.l.Send(end.other.Self(), fmt.Append(nil, i, j)); err != nil {
						t.Errorf("round %d, %s was told %q: %v", i, end.w.Self(), end.w.said(), err)
					}
				}
			})
		}
		both.Wait()
		for j := range 5 {
			want := fmt.Sprint(i, j)
			if one, two := receive(t, at), receive(t, there); string(one.Body) != want || string(two.Body) != want {
				t.Fatalf("got %q and %q, want %q", one.Body, two.Body, want)
			}
		}
		a.read()
		b.read()
		if a.said() != "Up "+b.Self() || b.said() != "Up "+a.Self() {
			t.Fatalf("round %d: %s was told %q and %s %q, want one Up each", i, a.Self(), a.said(), b.Self(), b.said())
		}
		if settled != nil {
			settled()
		}
		a.Disconnect(b)
		b.sees(a.Self(), "")
		a.told, b.told = nil, nil // nobody else reads now
	}
}

// A node that has received a message has been told that its sender is connected.
func anUpPrecedesMessages(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b"))
	a, b := nodes["a"], nodes["b"]
	at, there := line(t, a, "s"), line(t, b, "s")
	for i := range 50 {
		from, to, out, in := a, b, at, there
		if i%2 > 0 {
			from, to, out, in = b, a, there, at
		}
		a.Connect(b)
		from.sees(to.Self(), "up")
		send(t, out, to.Self(), nil)
		_ = receive(t, in)
		to.read()
		to.mu.Lock()
		if to.state[from.Self()] != "up" {
			t.Errorf("%s has received a message of %s and was told %q", to.Self(), from.Self(), to.told)
		}
		to.mu.Unlock()
		b.sees("a", "up")
		a.Disconnect(b)
		b.sees("a", "")
	}
}

func aDeathIsSaid(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a", "b", "c"))
	a, b, c := nodes["a"], nodes["b"], nodes["c"]
	a.meet(b)
	c.meet(a)
	b.Kill()
	a.sees("b", "")
	c.Kill()
	a.sees("c", "")
	if got := a.said(); got != "Up b, Up c, Down b, Down c" || len(a.Peers()) > 0 {
		t.Errorf("a was told %q, and is connected with %q", got, a.Peers())
	}
}

func oneWhoConnectsToItself(t *testing.T, open OpenRoaming) {
	nodes := watch(t, open(t, "a"))
	nodes["a"].Connect(nodes["a"])
	nodes["a"].sees("a", "")
	if got := nodes["a"].said(); got != "Down a" {
		t.Errorf("a was told %q, want Down", got)
	}
}
