package logs

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/txlog"
)

// told is an answer of another node.
type told struct {
	from string
	log  txlog.ID // which the message names
	body any
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
	to     func() string           // whom, each time
	with   func(serial uint64) any // the message, with a number of its own
	goesOn func(answer any) bool   // that one was not enough; nil: each is
}

// just is always the same node.
func just(name string) func() string { return func() string { return name } }

// ask sends a message until one of those to which it went has answered, or ctx ends, or the node.
func (r *part) ask(ctx context.Context, q question) (told, error) {
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
				return told{}, errSilent
			case <-r.over.Done():
				return told{}, errSilent
			case t := <-answer:
				if asked[t.from] && (q.goesOn == nil || !q.goesOn(t.body)) {
					return t, nil
				}
			case <-tick.C:
				again = true
			}
		}
	}
}

// errSilent means that a node has not answered.
var errSilent = errors.New("it does not answer. It has to run, with a [[logs]] table of this log, and both nodes have to be [[peers]] of each other")
