package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
)

// sluggish is a state whose queries take until a test lets them end.
type sluggish struct {
	txlog.State

	asked chan<- struct{}
	end   <-chan struct{}
}

func (s sluggish) View() txlog.View { return sluggishView{s.State.View(), s} }

type sluggishView struct {
	txlog.View

	of sluggish
}

func (v sluggishView) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
	if string(query) == "slow" {
		v.of.asked <- struct{}{}
		<-v.of.end
		query = []byte(`{"get":"count"}`)
	}
	return v.View.Query(query, budget)
}

// While queries take long at the leader, it beats and commits all the same, and so many run at a time and no more. Each answers of the
// time at which it began (B20).
func TestAQueryHoldsNothingUp(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		asked, end := make(chan struct{}, 100), make(chan struct{})
		over := sync.OnceFunc(func() { close(end) })
		defer over()
		for _, n := range s.nodes {
			n.kill()
			n.with = func(c *quorum.Config) { c.New = func() txlog.State { return sluggish{kv.New(), asked, end} } }
			n.start()
		}
		if _, err := s.nodes[3].count("before"); err != nil {
			t.Fatal(err)
		}
		l := s.leader()
		term := l.run.Load().Status().Term
		type answer struct {
			text string
			at   uint64
		}
		ask := func(ctx context.Context) <-chan result[answer] {
			return later(func() (answer, error) {
				text, at, err := l.run.Load().Query(ctx, []byte("slow"))
				return answer{string(text), at.Index}, err
			})
		}
		var all []<-chan result[answer]
		for range quorum.MostReading {
			all = append(all, ask(t.Context()))
		}
		pass(round)
		at := l.run.Load().Position().Index
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		one := ask(short)
		pass(20 * time.Second)
		select {
		case r := <-one:
			if !errors.Is(r.err, txlog.ErrUnknown) {
				t.Errorf("one more query has %+v", r)
			}
		default:
			t.Error("one more query runs")
		}
		for i := range 20 {
			if a, err := s.nodes[3].count(fmt.Sprint("meanwhile ", i)); err != nil || a.Fault != "" {
				t.Fatalf("goal %d: %+v, %v", i, a, err)
			}
		}
		if len(asked) != quorum.MostReading {
			t.Errorf("%d queries run", len(asked))
		}
		if now := l.run.Load().Status(); !now.Leads || now.Term != term {
			t.Errorf("it leads no more: %+v", now)
		}
		over()
		for _, one := range all {
			if r := <-one; r.err != nil || r.is != (answer{`{"key":"count","value":1,"found":true}`, at}) {
				t.Errorf("it answers %+v, %v, and was asked at %d", r.is, r.err, at)
			}
		}
		got, _, err := l.run.Load().Fresh(t.Context(), []byte("slow"))
		if want := `{"key":"count","value":21,"found":true}`; err != nil || string(got) != want {
			t.Errorf("a fresh read has %s, %v, want %s", got, err, want)
		}
	})
}
