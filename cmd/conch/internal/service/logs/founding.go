package logs

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/wire"
)

// promise names the node for which this one has drawn a store: for a while no other one makes a log of that name.
type promise struct {
	to    string
	until time.Time
}

// promised is for how long a store is promised.
const promised = time.Minute

// word is what a node has said about how the log began, and when.
type word struct {
	genesis txlog.Genesis
	at      time.Time
}

// wordLasts is for how long it counts: the others are asked again and again, and one of them may be gone for good.
const wordLasts = 10 * seekEvery

// told is an answer of another node.
type told struct {
	from string
	body wire.Body
}

func fingerprintOf(s crypto.Signer) txlog.Hash {
	public, _ := s.Public().(ed25519.PublicKey)
	return txlog.Fingerprint(public)
}

// founded takes a message about how the log begins, or who its members are to be. It does not wait. Everybody who is connected may
// ask how it began, and follow; anything else is for the nodes of the configuration, and for members.
func (r *part) founded(e transport.Envelope) {
	m, err := wire.Decode(e.Body)
	if err != nil {
		r.counts.refuse(reasonMalformed)
		return
	}
	switch b := m.Body.(type) {
	case wire.Seek:
		if g, known := r.began(); known && b.Namespace == r.Namespace {
			r.send(e.From, g.ID(), wire.Known{Serial: b.Serial, Genesis: g})
		}
	case wire.Known:
		r.hear(e.From, b.Genesis, time.Now())
	case wire.Prepared:
		r.answered(b.Serial, told{e.From, b})
	case wire.Begun:
		r.answered(b.Serial, told{e.From, b})
	case wire.Appointed:
		r.answered(b.Serial, told{e.From, b})
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
func (r *part) serves(from string, m wire.Message) {
	switch b := m.Body.(type) {
	case wire.Prepare: // it writes a file
		r.alone("prepare", from, m.Log, func(ctx context.Context) wire.Body { return r.prepare(ctx, from, m.Log, b) })
	case wire.Begin:
		r.send(from, m.Log, wire.Begun{Serial: b.Serial, Why: r.begins(from, b.Genesis)})
	case wire.Appoint:
		r.asked(from, m.Log, b)
	}
}

// bar tells a node that wants other members, and may not, that nothing is done. The leader alone can say so.
func (r *part) bar(to string, m wire.Message) {
	a, is := m.Body.(wire.Appoint)
	if h := r.running(); is && h != nil && h.Status().Leads {
		r.send(to, m.Log, wire.Appointed{Serial: a.Serial, Err: txlog.ErrBarred})
	}
}

// alone has something done for a node that takes a while, and sends the answer. It is done once at a time for each node: it asks again.
func (r *part) alone(what, from string, log txlog.ID, do func(context.Context) wire.Body) {
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

func (r *part) send(to string, log txlog.ID, body wire.Body) {
	if b, err := wire.Encode(wire.Message{Log: log, Body: body}); err == nil {
		_ = r.line.Send(to, b) // if it is lost, the node asks again
	}
}

// prepare answers a node that makes a log, or wants this node to be a member of the one that is here.
func (r *part) prepare(ctx context.Context, from string, log txlog.ID, p wire.Prepare) wire.Body {
	answer := wire.Prepared{Serial: p.Serial, Key: r.key}
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
func (r *part) drawFor(ctx context.Context, maker string, p wire.Prepare) (store uint64, err error) {
	if p.Namespace != r.Namespace || p.Machine != machineName {
		return 0, fmt.Errorf("it has a log %q of machine %s in its configuration, and is asked for %q of %s", r.Namespace, machineName, p.Namespace, p.Machine)
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
	if now := time.Now(); r.promise.to != maker && now.Before(r.promise.until) {
		return fmt.Errorf("%s makes a log of that name just now: wait a minute, and see what has become of it", r.promise.to)
	}
	r.promise = promise{maker, time.Now().Add(promised)}
	return nil
}

// storeOf returns the store that this node has of the log.
func (r *part) storeOf(log txlog.ID) (uint64, error) {
	s := r.reading()
	switch g, known := r.began(); {
	case !known || s == nil:
		return 0, errors.New("it has no copy of the log yet")
	case g.ID() != log:
		return 0, fmt.Errorf("it has another log of that name: %s", g.ID())
	}
	return s.View().ID, nil
}

// begins has the log begin with a genesis, and returns why that is not so; empty: it has begun.
func (r *part) begins(from string, g txlog.Genesis) (why string) {
	if own, known := r.began(); known {
		if own.ID() != g.ID() {
			return "it has another log of that name: " + own.ID().String()
		}
		return ""
	}
	if err := r.fits(g); err != nil {
		return err.Error()
	}
	r.mu.Lock()
	trusted := !r.ID.IsZero() || r.promise.to == from && time.Now().Before(r.promise.until)
	r.mu.Unlock()
	if !trusted {
		return "it has drawn no store for that log"
	}
	select {
	case r.begin <- g:
	default:
	}
	return "it has not begun yet"
}

// hear notes what a node says about how the log began, while nobody is believed. The log that the configuration names proves itself,
// by its id: then it does not matter which node says so.
func (r *part) hear(from string, g txlog.Genesis, now time.Time) {
	switch named := !r.ID.IsZero() && g.ID() == r.ID; {
	case named:
		from = r.self
	case !r.may(from):
		r.counts.refuse(reasonStranger)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.genesis == nil {
		r.known[from] = word{g, now}
	}
}

// How often the others are asked how the log began, and for how long their answers are waited for once the first is there.
const (
	seekEvery = time.Second / 2
	settle    = 2 * time.Second
)

// learn waits until it is known how the log began: its maker has told, or somebody has the one that the configuration names, or all say the
// same.
// Meanwhile the node says why it has no copy, if there is a reason.
func (r *part) learn(ctx context.Context, because error) (txlog.Genesis, error) {
	r.set(stateWaiting, because)
	if because != nil {
		r.log.Warn("this node asks the others how the log began", slog.Any("why", because))
	} else {
		r.log.Info("this node has no copy of the log yet, and asks the others")
	}
	tick := time.NewTicker(seekEvery)
	defer tick.Stop()
	var since time.Time
	said := ""
	for {
		select {
		case <-ctx.Done():
			return txlog.Genesis{}, ctx.Err()
		case g := <-r.begin:
			return g, nil
		case <-tick.C:
		}
		g, some, err := r.judge(time.Now())
		switch {
		case !some:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		if some && err == nil && (!r.ID.IsZero() || time.Since(since) >= settle) {
			r.log.Warn("this node takes over the log of its peers", slog.String("id", g.ID().String()), slog.Bool("named", !r.ID.IsZero()))
			return g, nil
		}
		r.set(stateWaiting, cmp.Or(err, because))
		if err != nil && err.Error() != said {
			said = err.Error()
			r.log.Error("this node believes nobody how the log began", slog.Any("error", err))
		}
		for _, to := range r.peersNow() {
			if !r.ID.IsZero() || r.may(to) { // a guest is believed only if the log is named
				r.send(to, txlog.ID{}, wire.Seek{Serial: 1, Namespace: r.Namespace})
			}
		}
	}
}

// judge returns how the log began, as the others say: the one that the configuration names, or else the one of which all speak that have
// said something lately.
func (r *part) judge(now time.Time) (g txlog.Genesis, some bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(_ string, said word) bool { return now.Sub(said.at) > wordLasts })
	by := map[txlog.ID][]string{}
	var unfit error
	for from, said := range r.known {
		if why := r.fits(said.genesis); why != nil {
			unfit = fmt.Errorf("%s has another log: %w", from, why)
			continue
		}
		g = said.genesis
		by[g.ID()] = append(by[g.ID()], from)
	}
	if len(by) < 2 {
		if len(by) == 1 {
			unfit = nil // somebody else has the right one
		}
		return g, len(by) == 1, unfit
	}
	var all []string
	for id, names := range by {
		all = append(all, id.String()+" by "+strings.Join(sorted(names), ", "))
	}
	return g, true, fmt.Errorf("the others have several logs of that name (%s): put the id of the right one into [[logs]], as id", strings.Join(sorted(all), "; "))
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}

// answered hands an answer to the one that waits for it.
func (r *part) answered(serial uint64, t told) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if asker := r.asks[serial]; asker != nil {
		select {
		case asker <- t:
		default:
		}
	}
}

// question is what a node asks others.
type question struct {
	log    txlog.ID
	to     func() string                 // whom, each time
	with   func(serial uint64) wire.Body // the message, with a number of its own
	goesOn func(answer wire.Body) bool   // that one was not enough; nil: each is
}

// just is always the same node.
func just(name string) func() string { return func() string { return name } }

// ask sends a message until one of those to which it went has answered, or ctx ends.
func (r *part) ask(ctx context.Context, q question) (wire.Body, error) {
	answer := make(chan told, 1)
	r.mu.Lock()
	r.serial++
	serial := r.serial
	r.asks[serial] = answer
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.asks, serial)
	}()
	tick := time.NewTicker(seekEvery)
	defer tick.Stop()
	asked := map[string]bool{}
	for {
		name := q.to()
		asked[name] = true
		r.send(name, q.log, q.with(serial))
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return nil, errSilent
			case t := <-answer:
				if asked[t.from] && (q.goesOn == nil || !q.goesOn(t.body)) {
					return t.body, nil
				}
			case <-tick.C:
				again = true
			}
		}
	}
}

// errSilent means that a node has not answered.
var errSilent = errors.New("it does not answer. It has to run, with a [[logs]] table of this log, and both nodes have to be [[peers]] of each other")
