package quorum_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
)

// mailing is a kv whose goal "mail …" has an effect.
type mailing struct{ txlog.State }

func newMailing() txlog.State { return mailing{kv.New()} }

func (m mailing) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	if body, is := bytes.CutPrefix(goal, []byte("mail ")); is {
		return txlog.Outcome{Effects: []txlog.Effect{{Kind: "mail", Body: body}}}
	}
	return m.State.Execute(goal, budget)
}

// office performs effects, as a test lets it.
type office struct {
	mu   sync.Mutex
	sent []string
	send func(ctx context.Context, n *node, body string) error
}

// opens has all nodes perform effects by an office.
func (s *site) opens(o *office) {
	for _, n := range s.nodes {
		n.kill()
		n.with = func(c *quorum.Config) {
			c.New = newMailing
			c.Perform = func(ctx context.Context, d quorum.Due) error {
				if err := o.send(ctx, n, string(d.Body)); err != nil {
					return err
				}
				o.mu.Lock()
				defer o.mu.Unlock()
				o.sent = append(o.sent, string(d.Body))
				return nil
			}
		}
		n.start()
	}
}

func (o *office) has() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprint(o.sent)
}

// An effect that fails for longer than a lease is tried again for as long as this node leads, and the next one waits.
func TestAnEffectFailsForLong(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		began := time.Now()
		o := &office{send: func(context.Context, *node, string) error {
			if time.Since(began) < 20*time.Second {
				return errors.New("the line is busy")
			}
			return nil
		}}
		s.opens(o)
		for _, body := range []string{"a", "b"} {
			if _, err := s.nodes[0].run.Load().Goal(t.Context(), body, []byte("mail "+body), 0); err != nil {
				t.Fatal(err)
			}
		}
		leader := s.leader()
		s.within(25*time.Second, "both are sent", func() bool { return o.has() == "[a b]" })
		s.within(3*time.Second, "the log says so", func() bool { return s.leader().run.Load().Inside().Member.Effects == 0 })
		if s.leader() != leader {
			t.Error("the leader has changed")
		}
	})
}

// An effect that takes longer than a lease is not cut off while a majority answers its leader.
func TestAnEffectTakesLong(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		o := &office{send: func(ctx context.Context, _ *node, _ string) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(5 * time.Second):
				return nil
			}
		}}
		s.opens(o)
		if _, err := s.nodes[0].run.Load().Goal(t.Context(), "a", []byte("mail a"), 0); err != nil {
			t.Fatal(err)
		}
		s.within(10*time.Second, "it is sent", func() bool { return o.has() == "[a]" })
	})
}

// A leader that is cut off begins no effect after its door has shut, and its context ends by then (hold).
func TestNoEffectAfterTheDoor(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		var cut atomic.Pointer[node]
		var when atomic.Int64
		var late, ended atomic.Int64
		o := &office{send: func(ctx context.Context, n *node, _ string) error {
			if n != cut.Load() {
				return errors.New("the line is busy")
			}
			if w := when.Load(); w > 0 && time.Now().UnixMilli() > w+900 {
				late.Add(1)
			}
			<-ctx.Done()
			ended.Store(time.Now().UnixMilli())
			return context.Cause(ctx)
		}}
		s.opens(o)
		if _, err := s.nodes[0].run.Load().Goal(t.Context(), "a", []byte("mail a"), 0); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		l := s.leader()
		cut.Store(l)
		pass(2 * time.Second)
		when.Store(time.Now().UnixMilli())
		var others []string
		for _, n := range s.nodes {
			if n != l {
				others = append(others, n.name)
			}
		}
		s.net.Part([]string{l.name}, others)
		pass(10 * time.Second)
		if after := ended.Load() - when.Load(); late.Load() > 0 || after > 900 || ended.Load() == 0 {
			t.Errorf("%d attempts began after the door was shut, and the last one ended %d ms after the cut", late.Load(), after)
		}
	})
}

// A machine that was suspended finds its door shut, and what it was performing is cut off within two rounds, although the timers
// stood meanwhile.
func TestAMachineIsSuspended(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		var asleep, awake, ended atomic.Int64
		var sleeper atomic.Pointer[node]
		o := &office{send: func(ctx context.Context, n *node, _ string) error {
			if n != sleeper.Load() || asleep.Load() > 0 {
				return errors.New("the line is busy")
			}
			for _, of := range s.nodes { // the others do not answer when it wakes
				if of != n {
					s.net.Cut(of.name, n.name)
				}
			}
			asleep.Store(int64(time.Hour))
			awake.Store(time.Now().UnixMilli())
			<-ctx.Done()
			ended.Store(time.Now().UnixMilli())
			return context.Cause(ctx)
		}}
		s.opens(o)
		began := time.Now()
		for _, n := range s.nodes {
			n.kill()
			before := n.with
			n.with = func(c *quorum.Config) {
				before(c)
				c.Clock = func() time.Duration {
					if n == sleeper.Load() {
						return time.Since(began) + time.Duration(asleep.Load())
					}
					return time.Since(began)
				}
			}
			n.start()
		}
		if _, err := s.nodes[0].run.Load().Goal(t.Context(), "a", []byte("mail a"), 0); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		l := s.leader()
		sleeper.Store(l)
		s.within(3*time.Second, "it has slept", func() bool { return asleep.Load() > 0 })
		if l.run.Load().Acts().Open(time.Since(began) + time.Hour) {
			t.Error("its door is open after an hour")
		}
		pass(time.Second)
		if took := ended.Load() - awake.Load(); ended.Load() == 0 || took > 200 {
			t.Errorf("it went on for %d ms after it woke", took)
		}
		s.net.Heal()
		pass(5 * time.Second)
		s.goes("after it")
		s.equal(5 * time.Second)
	})
}

// forgetful is a kv that fails once to take a diff over, the second time that its node sees it: a member looks first, and applies then.
type forgetful struct {
	txlog.State

	seen  *sync.Map
	armed *atomic.Bool
}

func (f forgetful) Apply(diff []byte) error {
	n, _ := f.seen.LoadOrStore(string(diff), new(atomic.Int64))
	if count, is := n.(*atomic.Int64); is && len(diff) > 0 && count.Add(1) == 2 && f.armed.CompareAndSwap(true, false) {
		return txlog.ErrDiff
	}
	return f.State.Apply(diff)
}

// A member whose memory was wrong, and that has made its copies anew, serves all that they have: the entries that it did not
// apply itself too.
func TestACopyMadeAnewIsServed(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(5)
		s.equal(3 * time.Second)
		n := s.nodes[0]
		if s.leader() == n {
			n = s.nodes[1]
		}
		n.kill()
		var seen sync.Map
		var armed atomic.Bool
		n.with = func(c *quorum.Config) {
			c.New = func() txlog.State { return forgetful{kv.New(), &seen, &armed} }
		}
		n.start()
		pass(3 * time.Second)
		armed.Store(true)
		s.fill(5)
		s.equal(5 * time.Second)
		if !n.told(func(e quorum.Event) bool { _, is := e.(quorum.Rebuilt); return is }) {
			t.Fatal("it has made nothing anew")
		}
		s.fill(5)
		s.equal(5 * time.Second)
		if now := n.run.Load().Inside(); now.Copy.At != now.Position {
			t.Errorf("its copy is at %d, and it serves others what is up to %d", now.Position.Index, now.Copy.At.Index)
		}
	})
}
