package logs

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
)

// promise names the node for which this one has drawn a store: for a while no other one makes a log of that name.
type promise struct {
	to    string
	until time.Duration // of a clock that goes on while the machine is suspended
}

// holds reports whether a store is promised to a node now.
func (p promise) holds(to string) bool { return p.to == to && boottime() < p.until }

func boottime() time.Duration { return time.Duration(fence.Boottime()) }

// promised is for how long a store is promised.
const promised = time.Minute

func fingerprintOf(s crypto.Signer) txlog.Hash {
	public, _ := s.Public().(ed25519.PublicKey)
	return txlog.Fingerprint(public)
}

// founded takes a message about how the log begins, or who its members are to be. It does not wait. Everybody who is connected may
// ask how it began, and follow; anything else is for the nodes of the configuration, and for members.
func (r *part) founded(e transport.Envelope) {
	m, err := founding.Decode(e.Body)
	if err != nil {
		r.counts.refuse(reasonMalformed)
		return
	}
	switch b := m.Body.(type) {
	case founding.Seek:
		if g, known := r.began(); known && b.Namespace == r.Namespace {
			r.send(e.From, g.ID(), founding.Known{Serial: b.Serial, Genesis: g})
		}
	case founding.Known:
		r.hear(e.From, b.Genesis, time.Now())
	case founding.Prepared:
		r.answered(b.Serial, told{e.From, m.Log, b})
	case founding.Begun:
		r.answered(b.Serial, told{e.From, m.Log, b})
	case founding.Appointed:
		r.answered(b.Serial, told{e.From, m.Log, b})
	default:
		if !r.may(e.From) && !r.isMember(e.From) {
			r.counts.refuse(reasonStranger)
			r.bar(e.From, m)
			return
		}
		r.serves(e.From, m)
	}
}

// serves does what a node asks that may decide.
func (r *part) serves(from string, m founding.Message) {
	switch b := m.Body.(type) {
	case founding.Prepare: // it writes a file
		r.alone("prepare", from, m.Log, func(ctx context.Context) any { return r.prepare(ctx, from, m.Log, b) })
	case founding.Begin:
		log, why := r.begins(from, b.Genesis)
		r.send(from, log, founding.Begun{Serial: b.Serial, Why: why})
	case founding.Appoint:
		r.asked(from, m.Log, b)
	}
}

// bar tells a node that wants other members, and may not, that nothing is done. The leader alone can say so.
func (r *part) bar(to string, m founding.Message) {
	a, is := m.Body.(founding.Appoint)
	if h := r.running(); is && h != nil && h.Status().Leads {
		r.send(to, m.Log, founding.Appointed{Serial: a.Serial, Err: txlog.ErrBarred})
	}
}

// alone has something done for a node that takes a while, and sends the answer. It is done once at a time for each node: it asks again.
func (r *part) alone(what, from string, log txlog.ID, do func(context.Context) any) {
	key := what + " " + from
	r.mu.Lock()
	busy := r.busy[key]
	r.busy[key] = true
	r.mu.Unlock()
	if busy {
		return
	}
	r.spawn(func() {
		answer := do(r.over)
		r.mu.Lock()
		delete(r.busy, key)
		r.mu.Unlock()
		r.send(from, log, answer)
	})
}

func (r *part) isMember(name string) bool {
	h := r.running()
	if h == nil {
		return false
	}
	_, is := txlog.FindMember(h.Status().Members, name)
	return is
}

func (r *part) send(to string, log txlog.ID, body any) {
	if b, err := (founding.Message{Log: log, Body: body}).Encode(); err == nil {
		_ = r.line.Send(to, b) // if it is lost, the node asks again
	}
}

// prepare answers a node that makes a log, or wants this node to be a member of the one that is here.
func (r *part) prepare(ctx context.Context, from string, log txlog.ID, p founding.Prepare) any {
	answer := founding.Prepared{Serial: p.Serial, Key: r.key}
	var err error
	if log.IsZero() {
		answer.Store, err = r.drawFor(ctx, from, p)
	} else {
		answer.Store, err = r.storeOf(log)
	}
	if err != nil {
		answer.Store, answer.Why = 0, err.Error()
	}
	return answer
}

// drawFor draws a store for a log that another node makes.
func (r *part) drawFor(ctx context.Context, maker string, p founding.Prepare) (store uint64, err error) {
	if p.Namespace != r.Namespace || p.Machine != r.machine().full {
		return 0, fmt.Errorf("it has a log %q of machine %s in its configuration, and is asked for %q of %s", r.Namespace, r.machine().full, p.Namespace, p.Machine)
	}
	if g, known := r.began(); known {
		return 0, fmt.Errorf("it has a log of that name already: %s", g.ID())
	}
	if !r.ID.IsZero() {
		return 0, errors.New("its configuration names the id of another log: take id out until the new one is made")
	}
	if err := r.give(maker); err != nil {
		return 0, err
	}
	return r.drawStore(ctx)
}

// give promises the log to the node that makes it.
func (r *part) give(maker string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.promise.to != maker && r.promise.holds(r.promise.to) {
		return fmt.Errorf("%s makes a log of that name just now: wait a minute, and see what has become of it", r.promise.to)
	}
	r.promise = promise{maker, boottime() + promised}
	return nil
}

// storeOf returns the store that this node has of the log.
func (r *part) storeOf(log txlog.ID) (uint64, error) {
	s := r.reading()
	switch g, known := r.began(); {
	case known && g.ID() != log:
		return 0, fmt.Errorf("it has another log of that name: %s", g.ID())
	case !known || s == nil:
		return 0, cmp.Or(r.shut(), errors.New("it has no copy of the log yet"))
	}
	return s.View().ID, nil
}

// notYet says that a log is about to begin.
const notYet = "it has not begun yet"

// begins has the log begin with a genesis, and returns why that is not so; empty: it has begun. It returns the log that is here, if there is
// one: that stays.
func (r *part) begins(from string, g txlog.Genesis) (log txlog.ID, why string) {
	if own, known := r.began(); known {
		if own.ID() != g.ID() {
			why = "it has another log of that name: " + own.ID().String()
		}
		return own.ID(), why
	}
	if err := r.fits(g); err != nil {
		return g.ID(), err.Error()
	}
	r.mu.Lock()
	trusted := !r.ID.IsZero() || r.promise.holds(from)
	r.mu.Unlock()
	if !trusted {
		return g.ID(), "it has drawn no store for that log"
	}
	select {
	case r.begin <- g:
	default:
	}
	return g.ID(), notYet
}
