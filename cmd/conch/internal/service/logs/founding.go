package logs

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/wire"
)

// promise says for whom this node has drawn a store: for a while nobody else makes a log of that name.
type promise struct {
	to    string
	until time.Time
}

// promised is for how long.
const promised = time.Minute

// told is an answer of another node.
type told struct {
	from string
	body wire.Body
}

func fingerprintOf(s crypto.Signer) txlog.Hash {
	public, _ := s.Public().(ed25519.PublicKey)
	return txlog.Fingerprint(public)
}

// founded takes a message about how the log begins. It does not wait.
func (r *part) founded(e transport.Envelope) {
	m, err := wire.Decode(e.Body)
	if err != nil {
		r.counts.refuse(reasonMalformed)
		return
	}
	if !r.may(e.From) && !r.isMember(e.From) {
		r.counts.refuse(reasonStranger)
		return
	}
	switch b := m.Body.(type) {
	case wire.Seek:
		if g, known := r.began(); known && b.Namespace == r.Namespace {
			r.send(e.From, g.ID(), wire.Known{Serial: b.Serial, Genesis: g})
		}
	case wire.Known:
		r.hear(e.From, b.Genesis)
	case wire.Prepare:
		go r.prepare(e.From, m.Log, b) // it writes a file
	case wire.Begin:
		r.send(e.From, m.Log, wire.Begun{Serial: b.Serial, Why: r.begins(e.From, b.Genesis)})
	case wire.Prepared:
		r.answered(b.Serial, told{e.From, b})
	case wire.Begun:
		r.answered(b.Serial, told{e.From, b})
	case wire.Appoint:
		r.asked(e.From, m.Log, b)
	case wire.Appointed:
		r.answered(b.Serial, told{e.From, b})
	}
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

// prepare answers who makes a log, or wants this node to be a member of the one that is here.
func (r *part) prepare(from string, log txlog.ID, p wire.Prepare) {
	answer := wire.Prepared{Serial: p.Serial, Key: r.key}
	var err error
	if log.IsZero() {
		answer.Store, err = r.drawFor(from, p)
	} else {
		answer.Store, err = r.storeOf(log)
	}
	if err != nil {
		answer.Store, answer.Why = 0, err.Error()
	}
	r.send(from, log, answer)
}

// drawFor draws a store for a log that somebody makes.
func (r *part) drawFor(who string, p wire.Prepare) (store uint64, err error) {
	if p.Namespace != r.Namespace || p.Machine != machineName {
		return 0, fmt.Errorf("it has a log %q of machine %s in its configuration, and is asked for %q of %s", r.Namespace, machineName, p.Namespace, p.Machine)
	}
	if g, known := r.began(); known {
		return 0, fmt.Errorf("it has a log of that name already: %s", g.ID())
	}
	if !r.ID.IsZero() {
		return 0, errors.New("its configuration names the id of another log: take id out until the new one is made")
	}
	if err := r.give(who); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	return r.drawStore(ctx)
}

// give promises the log to who makes it.
func (r *part) give(who string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.promise.to != who && now.Before(r.promise.until) {
		return fmt.Errorf("%s makes a log of that name just now: wait a minute, and see what has become of it", r.promise.to)
	}
	r.promise = promise{who, time.Now().Add(promised)}
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

// hear notes what a node says about how the log began, while nobody is believed.
func (r *part) hear(from string, g txlog.Genesis) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.genesis == nil && len(r.known) < mostKnown {
		r.known[from] = g
	}
}

// mostKnown bounds whose word is kept.
const mostKnown = 256

// How often the others are asked how the log began, and for how long their answers are waited for once the first is there.
const (
	seekEvery = time.Second / 2
	settle    = 2 * time.Second
)

// learn waits until it is known how the log began: from who has made it, from the configuration, or from what all say.
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
		g, some, err := r.judge()
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
			r.send(to, txlog.ID{}, wire.Seek{Serial: 1, Namespace: r.Namespace})
		}
	}
}

// judge returns how the log began, as the others say: the one that the configuration names, or else what all say who say
// something.
func (r *part) judge() (g txlog.Genesis, some bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[txlog.ID][]string{}
	var unfit error
	for from, said := range r.known {
		if why := r.fits(said); why != nil {
			unfit = fmt.Errorf("%s has another log: %w", from, why)
			continue
		}
		by[said.ID()] = append(by[said.ID()], from)
		g = said
	}
	if len(by) < 2 {
		if len(by) == 1 {
			unfit = nil // somebody else has the right one
		}
		return g, len(by) == 1, unfit
	}
	var all []string
	for id, who := range by {
		all = append(all, id.String()+" says "+strings.Join(sorted(who), ", "))
	}
	return g, true, fmt.Errorf("the others have several logs of that name (%s): put the id of the right one into [[logs]], as id", strings.Join(sorted(all), "; "))
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}

// answered hands an answer to who waits for it.
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

// ask sends a message until one to whom it went has answered, or ctx ends.
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
