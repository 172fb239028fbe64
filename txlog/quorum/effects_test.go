package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog/quorum"
)

// postman delivers mails, and remembers each delivery.
type postman struct {
	mu        sync.Mutex
	delivered []delivery
	then      func(n *node, d delivery) error // what becomes of the word that it was; nil: it is said
}

type delivery struct{ by, name, to string }

// hires has all nodes deliver mails.
func (s *site) hires(p *postman) {
	s.t.Helper()
	for _, n := range s.nodes {
		n.kill()
		n.with = func(c *quorum.Config) {
			c.New = newMailing
			c.Perform = func(ctx context.Context, d quorum.Due) error { return p.deliver(ctx, n, d) }
		}
		n.start()
	}
}

func (p *postman) deliver(_ context.Context, n *node, d quorum.Due) error {
	one := delivery{n.name, d.Name(), string(d.Body)}
	p.mu.Lock()
	p.delivered = append(p.delivered, one)
	then := p.then
	p.mu.Unlock()
	if d.Kind != "mail" || one.to == "" || d.Log != n.site.genesis.ID() {
		n.site.t.Errorf("a delivery of %+v", d)
	}
	if then == nil {
		return nil
	}
	return then(n, one)
}

func (p *postman) after(then func(n *node, d delivery) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.then = then
}

func (p *postman) all() []delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.delivered)
}

// to says to whom was delivered, in order.
func (p *postman) to() string {
	var names []string
	for _, d := range p.all() {
		names = append(names, d.to)
	}
	return strings.Join(names, " ")
}

func (n *node) asks(t testing.TB, id, goal string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if a, err := n.run.Load().Goal(ctx, id, []byte(goal), 0); err != nil || a.Fault != "" {
		t.Fatalf("%s: %+v, %v", goal, a, err)
	}
}

func (n *node) mails(t testing.TB, who string) {
	t.Helper()
	n.asks(t, who, "mail "+who)
}

// noted waits until the log says that everything was performed.
func (s *site) noted() {
	s.t.Helper()
	s.within(20*time.Second, "nothing waits to be performed", func() bool {
		l := s.leader()
		return l != nil && l.run.Load().Inside().Member.Effects == 0
	})
}

// A leader dies after it has performed an effect and before the log says so: the next one performs it again, by the same name,
// and then what comes after it. Nothing is skipped, and nothing after the log has said it.
func TestALeaderDiesBeforeItIsNoted(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		p := &postman{}
		s.hires(p)
		s.within(5*time.Second, "one leads", func() bool { return s.leader() != nil })
		first := s.leader()
		reached := make(chan struct{}, 1)
		dies := make(chan struct{})
		p.after(func(n *node, _ delivery) error {
			if n != first {
				return nil
			}
			select {
			case reached <- struct{}{}:
			default:
			}
			<-dies
			return errors.New("it is dead, and nobody hears of it")
		})
		first.mails(t, "ann")
		<-reached
		for _, who := range []string{"bob", "cid"} {
			s.nodes[0].mails(t, who)
		}
		go func() { pass(round / 10); close(dies) }()
		first.kill()
		s.noted()
		all := p.all()
		if p.to() != "ann ann bob cid" || all[0].name != all[1].name || all[0].by == all[1].by || all[2].name == all[3].name {
			t.Errorf("delivered was %+v", all)
		}
		first.start()
		s.equal(10 * time.Second)
		s.leader().kill() // another change of leaders: nothing is performed again
		pass(10 * time.Second)
		if p.to() != "ann ann bob cid" {
			t.Errorf("after the log has said it, delivered was %+v", p.all())
		}
	})
}

// A leader dies as soon as the log says that an effect was performed: nobody performs it again, nor after all nodes have begun anew
// from their stores, nor a node that fetched a snapshot and leads then.
func TestNothingIsPerformedOnceItIsNoted(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		p := &postman{}
		s.hires(p)
		want := ""
		for i := range 3 {
			who := fmt.Sprint("p", i)
			for _, n := range s.nodes {
				if n.run.Load() != nil {
					n.mails(t, who)
					break
				}
			}
			want = strings.TrimSpace(want + " " + who)
			s.noted()
			l := s.leader()
			l.kill()
			s.within(10*time.Second, "another one leads", func() bool { return s.leader() != nil })
			l.start()
			s.equal(10 * time.Second)
		}
		s.hires(p)
		pass(10 * time.Second)
		s.noted()
		if p.to() != want {
			t.Errorf("delivered was %+v, want %s", p.all(), want)
		}
	})
}

// While no node performs anything effects wait, over restarts and in snapshots; the first leader that does performs them all, in their
// order. A leader that is cut off from the others when it has delivered is no witness: the next one does it again.
func TestEffectsWait(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		p := &postman{}
		s.hires(p)
		for _, n := range s.nodes {
			n.kill()
			before := n.with
			n.with = func(c *quorum.Config) {
				before(c)
				c.Perform = nil
			}
			n.start()
		}
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprintf("p%02d", i))
			s.nodes[i%3].mails(t, want[i])
			s.nodes[i%3].asks(t, fmt.Sprint("count ", i), `{"op":"add","key":"count"}`)
			s.nodes[i%3].asks(t, fmt.Sprint("count again ", i), `{"op":"add","key":"count"}`)
		}
		s.within(10*time.Second, "there is a snapshot with them", func() bool { return len(s.nodes[0].store.View().Kept) > 0 })
		if now := s.leader().run.Load().Inside().Member.Effects; now != 60 || p.to() != "" {
			t.Fatalf("%d effects wait, and delivered was %q", now, p.to())
		}
		s.hires(p)
		s.within(30*time.Second, "all are delivered", func() bool { return len(p.all()) >= 60 })
		s.noted()
		if p.to() != strings.Join(want, " ") {
			t.Errorf("delivered was %s", p.to())
		}
		l := s.leader()
		var others []string
		for _, n := range s.nodes {
			if n != l {
				others = append(others, n.name)
			}
		}
		p.after(func(n *node, d delivery) error {
			if n == l && d.to == "last" {
				s.net.Part([]string{l.name}, others)
			}
			return nil
		})
		l.mails(t, "last")
		s.within(20*time.Second, "another one delivers", func() bool { return len(p.all()) >= 62 })
		s.net.Heal()
		s.noted()
		s.equal(20 * time.Second)
		pass(10 * time.Second)
		if all := p.all(); len(all) != 62 || all[60].name != all[61].name || all[60].by != l.name || all[61].by == l.name {
			t.Errorf("the last ones are %+v", all[60:])
		}
	})
}
