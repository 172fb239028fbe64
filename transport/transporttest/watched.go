package transporttest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// watched is a node whose links are read and judged.
type watched struct {
	Roamer
	t *testing.T

	mu    sync.Mutex
	state map[string]string // up, asked or nothing, by peer
	told  []string          // "Up b", "Down b", in order
	keys  map[string][32]byte
}

func watch(t *testing.T, nodes map[string]Roamer) map[string]*watched {
	t.Helper()
	all := map[string]*watched{}
	for name, r := range nodes {
		all[name] = &watched{Roamer: r, t: t, state: map[string]string{}, keys: map[string][32]byte{}}
	}
	return all
}

// Connect notes that an answer has to come.
func (w *watched) Connect(to *watched) {
	w.mu.Lock()
	if w.state[to.Self()] == "" {
		w.state[to.Self()] = "asked"
	}
	w.mu.Unlock()
	w.Roamer.Connect(to.Self(), to.Address)
}

// Disconnect notes that nothing may come.
func (w *watched) Disconnect(from *watched) {
	w.mu.Lock()
	delete(w.state, from.Self())
	w.mu.Unlock()
	w.Roamer.Disconnect(from.Self())
}

// read takes what is told: never Up twice, and no Down that answers nothing.
func (w *watched) read() {
	for _, link := range w.Links() {
		w.mu.Lock()
		was := w.state[link.Peer]
		if link.Up {
			w.state[link.Peer], w.keys[link.Peer] = "up", link.Key
			w.told = append(w.told, "Up "+link.Peer)
		} else {
			delete(w.state, link.Peer)
			w.told = append(w.told, "Down "+link.Peer)
		}
		if link.Up && was == "up" || !link.Up && was == "" {
			w.t.Errorf("%s was told %q where %s was %q before", w.Self(), w.told, link.Peer, was)
		}
		w.mu.Unlock()
	}
}

// sees waits until the last that is told of a peer is this: up, or nothing.
func (w *watched) sees(peer, want string) {
	w.t.Helper()
	if !w.saw(peer, want) {
		w.t.FailNow()
	}
}

// saw is sees for any goroutine.
func (w *watched) saw(peer, want string) bool {
	w.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		w.read()
		w.mu.Lock()
		is := w.state[peer]
		w.mu.Unlock()
		if is == want {
			return true
		}
		select {
		case <-w.Changed():
		case <-late.C:
			w.t.Errorf("%s: %s is %q and not %q after %v; it was told %q", w.Self(), peer, is, want, patience, w.said())
			return false
		}
	}
}

func (w *watched) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.told, ", ")
}

// meet connects two nodes.
func (w *watched) meet(other *watched) {
	w.t.Helper()
	w.Connect(other)
	w.sees(other.Self(), "up")
	other.sees(w.Self(), "up")
}
