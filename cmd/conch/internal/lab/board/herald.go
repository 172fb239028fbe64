//go:build unix

package board

import (
	"context"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
)

// herald does for heads what gossip does in a node: it passes on each that is newer than all before, on all connections but the one
// that has brought it.
type herald struct {
	line   transport.Line
	peers  func() []string
	newest uint64
	own    chan []byte
	heard  func(head []byte, via string) error
}

func newHerald(line transport.Line, peers func() []string) *herald {
	return &herald{line: line, peers: peers, own: make(chan []byte, 16)}
}

// publish has all told a head of this node. One that finds no room is lost: the next one says more.
func (h *herald) publish(head []byte) {
	select {
	case h.own <- head:
	default:
	}
}

func (h *herald) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case head := <-h.own:
			h.pass(head, "")
		case e := <-h.line.Inbox():
			if h.pass(e.Body, e.From) {
				_ = h.heard(e.Body, e.From) // it was read a moment ago
			}
		}
	}
}

// pass tells the others a head that is new. It is false if it is none.
func (h *herald) pass(head []byte, via string) bool {
	read, err := txlog.DecodeHead(head)
	if err != nil || read.Index <= h.newest {
		return false
	}
	h.newest = read.Index
	for _, to := range h.peers() {
		if to != via {
			_ = h.line.Send(to, head) // it may be lost: others bring it too
		}
	}
	return true
}
