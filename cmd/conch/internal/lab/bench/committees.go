//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// committees measures groups in which most members have to endorse and all may coordinate: what is sent for a payment, how
// long one takes at rest, and how long the others need after a coordinator's death.
func committees(ctx context.Context, cfg Config, s *site, r *Report) error {
	sizes := cfg.amounts().committees
	for i, members := range sizes {
		cfg.Say("sequencer: messages of %d organisations, %d endorse …", members, members/2+1)
		g, err := openGroup(ctx, cfg, s, shape{members, members/2 + 1, false})
		if err == nil {
			err = g.traffic(ctx, r)
		}
		if err == nil && i == 1 { // five, unless it is quick
			err = errors.Join(g.rest(ctx, r), g.deaths(ctx, r))
		}
		if err := errors.Join(err, g.Clear()); err != nil {
			return err
		}
	}
	return nil
}

// usersEach is how many users an organisation has where they only make each other work.
const usersEach = 10

// traffic counts what all nodes send for a payment, if there are many, and if there is one at a time.
func (g *group) traffic(ctx context.Context, r *Report) error {
	if err := g.settle(ctx, usersEach); err != nil {
		return err
	}
	each := max(g.cfg.amounts().payments/10/len(g.users), 1)
	alone := g.cfg.amounts().restful / 3
	for _, way := range []struct {
		name string
		many int
		pay  func() error
	}{
		{"", each * len(g.users), func() error { return g.pay(ctx, each) }},
		{"_alone", alone, func() error { return g.one(ctx, alone, func(int, time.Duration) {}) }},
	} {
		before, err := g.sent(ctx)
		if err != nil {
			return err
		}
		if err := way.pay(); err != nil {
			return err
		}
		after, err := g.sent(ctx)
		if err != nil {
			return err
		}
		all := after.minus(before)
		name := fmt.Sprintf("committee_%d", len(g.Members))
		r.add(name+"_messages"+way.name, all.messages/float64(way.many), "messages/tx")
		r.add(name+"_bytes"+way.name, all.bytes/float64(way.many), "bytes/tx")
	}
	return nil
}

// one has one user after the other pay, each when the payment before is final, and tells how long each took.
func (g *group) one(ctx context.Context, many int, each func(i int, took time.Duration)) error {
	for i := range many {
		u := g.users[i*usersEach%len(g.users)] // another organisation's each time
		if err := pause.For(ctx, phase(chainTime, i)); err != nil {
			return err
		}
		began := time.Now()
		key, request := u.next()
		id, err := g.post(ctx, u.of, key, request)
		if err != nil {
			return err
		}
		var said struct{ Fate string }
		err = every(ctx, time.Millisecond*5, "the payment is final", func() (bool, error) {
			err := ask(ctx, u.of, http.MethodGet, g.transactions()+"/"+id, nil, &said)
			return said.Fate == "confirmed", err
		})
		if err != nil {
			return err
		}
		each(i, time.Since(began))
	}
	return nil
}

// rest measures one payment at a time, from the request until its node says that it is final, in times between two
// blocks. The ceiling is what was asked for.
func (g *group) rest(ctx context.Context, r *Report) error {
	many := g.cfg.amounts().restful
	g.cfg.Say("sequencer: %d payments at rest, of %d organisations, final %d blocks below the head …", many, len(g.Members), chainDepth)
	var took []time.Duration
	err := g.one(ctx, many+1, func(i int, one time.Duration) {
		if i > 0 { // the first one wakes everybody
			took = append(took, one)
		}
	})
	blocks := func(q float64) float64 { return float64(quantile(took, q)) / float64(chainTime) }
	r.beside("rest_to_final_p50", blocks(0.5), chainDepth+2, "blocks")
	r.add("rest_to_final_p99", blocks(0.99), "blocks")
	return err
}
