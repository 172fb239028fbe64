package committee

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// carry takes a message from one node to another: late, twice, out of order, or never, and always as bytes.
func (r *run) carry(n *node, to ledger.Account, msg wire.Message) {
	if _, list := msg.Body.(wire.AskList); list && r.broken == "beat-digest" {
		return
	}
	if _, returned := msg.Body.(wire.Returned); returned && r.w.Chance(r.lostReturns) && to != n.account {
		return
	}
	msg.Body = r.forged(msg.Body)
	if n.lies == nil {
		r.judgeSent(n, to, msg)
	}
	r.words.message(n, to, msg)
	bytes, err := wire.Encode(msg)
	if !r.Check(err == nil, "the wire", "%s cannot send %v: %v", n.name, msg, err) {
		return
	}
	r.Stats["messages"]++
	switch msg.Body.(type) {
	case wire.AskAttempts, wire.Attempts: // what is lost with a database is asked for as long as it is missing
	default:
		r.lastMessage = r.w.Now()
	}
	target := r.byAccount[to]
	if target == nil {
		return
	}
	arrive := func() {
		if !target.up {
			return
		}
		got, err := wire.Decode(bytes)
		if r.Check(err == nil, "the wire", "%s cannot read %v: %v", target.name, msg, err) {
			r.judgeArrived(target, n.account, got)
			target.receive(n.account, got)
		}
	}
	if target == n {
		r.w.After(10*time.Microsecond, arrive)
		return
	}
	for range 1 + r.copies() {
		if n.slow > 0 {
			r.w.After(n.slow, func() { r.net.Tell(n.name, target.name, arrive) })
			continue
		}
		r.net.Tell(n.name, target.name, arrive)
	}
}

// beat carries a heartbeat. A loop puts those of all contracts into one message.
func (n *node) beat(p coordinator.Pulse) {
	target := n.r.byAccount[p.To]
	if target == nil {
		return
	}
	n.r.Stats["beats"]++
	n.r.words.beat(n, target)
	if n.r.cfg.Trace != nil {
		n.r.note(n.name, fmt.Sprintf("beats to %s, range %d, works %v", target.name, p.Pulse.Range, p.Pulse.Works), int64(p.Pulse.Digest.Count))
	}
	n.r.lastMessage = n.r.w.Now()
	bytes, err := wire.EncodeBeat(wire.Beat{Incarnation: n.incarnation, Contracts: []wire.Pulse{p.Pulse}})
	n.r.Check(err == nil, "the wire", "%s cannot beat: %v", n.name, err)
	arrive := func() {
		if !target.up {
			return
		}
		b, err := wire.DecodeBeat(bytes)
		if !n.r.Check(err == nil, "the wire", "%s cannot read a beat: %v", target.name, err) {
			return
		}
		target.feed(core.Beaten{From: n.account, Beat: b})
	}
	if target == n {
		n.r.w.After(10*time.Microsecond, arrive)
		return
	}
	n.r.net.Tell(n.name, target.name, arrive)
}

// forged is what a coordinator sends that wants another attempt granted than its sender has assembled.
func (r *run) forged(body wire.Body) wire.Body {
	ask, is := body.(wire.AskGrant)
	if !is || r.quiet || !r.w.Chance(0.005) {
		return body
	}
	r.Stats["forgeries"]++
	items := slices.Clone(ask.Items)
	binary.BigEndian.PutUint64(items[r.w.Pick(len(items))].Assembled[:], r.w.Draw())
	return wire.AskGrant{By: ask.By, Items: items}
}

func (r *run) copies() int {
	if !r.quiet && r.w.Chance(0.02) {
		return 1
	}
	return 0
}

func (r *run) note(who, what string, number int64) { r.w.Note(who, what, number) }

// tell writes a line of the story.
func (r *run) tell(who, what string, args ...any) {
	r.words.flush()
	r.write(r.w.Now(), who, fmt.Sprintf(what, args...))
}

func (r *run) write(at time.Duration, who, what string) {
	r.Tell(at, who, what)
}
