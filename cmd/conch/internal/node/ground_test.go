package node_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/transport"
)

// network is a network that notes which connections are needed.
type network struct {
	kept      map[string]string
	withdrawn []string
}

func (*network) Open(string) (transport.Line, error) { return nil, transport.ErrClosed }
func (*network) Peers() []string                     { return nil }
func (n *network) Keep(addresses map[string]string)  { n.kept = addresses }
func (*network) Publish(string, []byte) error        { return nil }
func (n *network) Withdraw(why error)                { n.withdrawn = append(n.withdrawn, fmt.Sprint(why)) }

// guest notes what it is told.
type guest struct {
	topic string
	told  []string
}

func (g *guest) Joined(node.Network) { g.told = append(g.told, "joined") }
func (g *guest) Left()               { g.told = append(g.told, "left") }
func (g *guest) Suggested(name string) {
	g.told = append(g.told, "suggested "+name)
}

func (g *guest) Heard(n node.News) bool {
	if n.Topic != g.topic {
		return false
	}
	g.told = append(g.told, fmt.Sprintf("%s by %s", n.Body, n.Via))
	return true
}

// A guest hears how things stand when it enters, and what changes later; news goes to the one whose it is.
func TestGuestsOfTheGround(t *testing.T) {
	t.Parallel()
	g := new(node.Ground)
	a, b := &guest{topic: "a"}, &guest{topic: "b"}
	g.Enter(a)
	g.Join(new(network))
	g.Suggest("n2")
	g.Enter(b)
	for topic, want := range map[string]bool{"a": true, "c": false} {
		if taken := g.Tell(node.News{Topic: topic, Body: []byte("x"), Via: "n3"}); taken != want {
			t.Errorf("news of %s is taken: %v", topic, taken)
		}
	}
	g.Leave()
	g.Leave()
	if now := g.Suggested(); now != "" {
		t.Errorf("%s is suggested after the network has ended", now)
	}
	if want := []string{"joined", "suggested n2", "x by n3", "left"}; !slices.Equal(a.told, want) {
		t.Errorf("a was told %q, want %q", a.told, want)
	}
	if want := []string{"joined", "suggested n2", "left"}; !slices.Equal(b.told, want) {
		t.Errorf("b was told %q, want %q", b.told, want)
	}
}

// Two owners keep connections without each other's knowledge, also over the end of a network.
func TestConnectionsOfTwoOwners(t *testing.T) {
	t.Parallel()
	g, first, second := new(node.Ground), new(network), new(network)
	g.Keep("x", map[string]string{"n1": "", "n2": ""})
	g.Join(first)
	g.Keep("y", map[string]string{"n2": "10.0.0.2:1", "n3": ""})
	if want := map[string]string{"n1": "", "n2": "10.0.0.2:1", "n3": ""}; !maps.Equal(first.kept, want) {
		t.Errorf("kept %v, want %v", first.kept, want)
	}
	g.Keep("x", nil)
	g.Leave()
	g.Join(second)
	if want := map[string]string{"n2": "10.0.0.2:1", "n3": ""}; !maps.Equal(second.kept, want) {
		t.Errorf("kept %v, want %v", second.kept, want)
	}
}

// A node is withdrawn as long as one owner cannot work, also in a network that comes later, and taken back once all can.
func TestOneThatCannotWorkIsEnough(t *testing.T) {
	t.Parallel()
	g, first, second := new(node.Ground), new(network), new(network)
	g.Withdraw("x", nil)
	g.Withdraw("x", errors.New("no disk"))
	g.Join(first)
	g.Withdraw("y", errors.New("no vote"))
	g.Withdraw("x", nil)
	g.Leave()
	g.Withdraw("x", nil)
	g.Join(second)
	g.Withdraw("y", errors.New("no vote")) // its cause lasts
	g.Withdraw("y", nil)
	g.Withdraw("y", nil)
	if want := []string{"no disk", "no disk\nno vote", "no vote"}; !slices.Equal(first.withdrawn, want) {
		t.Errorf("the first network was told %q, want %q", first.withdrawn, want)
	}
	if want := []string{"no vote", "no vote", "<nil>"}; !slices.Equal(second.withdrawn, want) {
		t.Errorf("the second network was told %q, want %q", second.withdrawn, want)
	}
}
