package committee

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// I10: whatever a member or a stranger says, in whatever kind of message, at whatever time, each request gets exactly one
// answer of every machine that it reaches, nothing panics, no intent lands twice, and no user is told a lie.
func TestEveryKindFromEverybody(t *testing.T) {
	t.Parallel()
	seeds := uint64(12)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := newRun(Config{Seed: seed + 1, Nodes: 3, Needed: 1 + int(seed%2), Intents: 12, Faults: 12 * time.Second, Calm: true}.WithDefaults())
			for _, n := range r.nodes {
				n.boot()
			}
			r.w.After(blockTime, r.chain.run)
			r.users()
			noise := &noise{r: r, chance: rand.New(rand.NewPCG(seed, 7)), kinds: map[string]int{}}
			noise.speak()
			for r.w.Now() < 14*time.Second {
				if r.w.Step(); len(r.Found) > 0 {
					noise.judge(t)
				}
			}
			for k, at := range r.requests {
				if at.answers == 0 && !strings.Contains(at.what, "Attempts") && k.node.up {
					t.Errorf("%s never answered %s of %v", k.node.name, at.what, at.at)
				}
			}
			if len(noise.kinds) < 2*len(kinds) || slices.Min(slices.Collect(maps.Values(noise.kinds))) < 5 {
				t.Errorf("the world was not noisy: %v", noise.kinds)
			}
		})
	}
}

// noise says anything.
type noise struct {
	r      *run
	chance *rand.Rand
	number uint64
	kinds  map[string]int
}

// judge drops what noise alone explains: it is said in the names of honest nodes.
func (o *noise) judge(t *testing.T) {
	for _, v := range o.r.Found {
		switch v.Invariant {
		case OneAnswer, OnceLanded, ToldTheTruth, NoDoubleSpend, GrantStored, OwnAttempt, "the wire", "the world":
			t.Fatalf("%s: %s", v.Invariant, v.Detail)
		}
	}
	o.r.Found = nil
}

var kinds = []wire.Body{
	wire.Delegate{}, wire.Accepted{}, wire.Assemble{}, wire.Assembled{}, wire.Endorse{}, wire.Endorsed{}, wire.AskGrant{}, wire.Granted{}, wire.Dispatched{},
	wire.Noted{}, wire.Returned{}, wire.AskList{}, wire.List{}, wire.AskHandover{}, wire.Handover{}, wire.AskAttempts{}, wire.Attempts{}, wire.Rejected{},
}

// speak sends one message of each kind from a member and from a stranger to a node, and goes on a little later.
func (o *noise) speak() {
	if o.r.w.Now() > 10*time.Second {
		return
	}
	for _, kind := range kinds {
		target := o.r.nodes[o.chance.IntN(len(o.r.nodes))]
		for _, from := range []ledger.Account{o.r.nodes[o.chance.IntN(len(o.r.nodes))].account, "stranger"} {
			body := reflect.New(reflect.TypeOf(kind)).Elem()
			o.fill(body)
			msg := wire.Message{Contract: o.r.contract.Address, Height: o.chance.Uint64N(20), Wait: time.Second}
			msg.Body, _ = reflect.TypeAssert[wire.Body](body)
			o.number++
			switch {
			case msg.Body.Kind() == wire.KindReturned:
			case isAnswer(msg.Body): // to something that was asked, or was not
				msg.Request = wire.RequestID{Incarnation: target.incarnation, Number: 1 + o.chance.Uint64N(60)}
			default:
				msg.Request = wire.RequestID{Incarnation: wire.Incarnation{byte(o.chance.IntN(3)), 99}, Number: o.number}
			}
			o.kinds[fmt.Sprint(msg.Body.Kind(), from == "stranger")]++
			for range 1 + o.chance.IntN(2) { // the same request may come again
				if o.r.judgeArrived(target, from, msg); isAnswer(msg.Body) || msg.Request.Number > 0 || msg.Body.Kind() == wire.KindReturned {
					target.receive(from, msg)
				}
			}
		}
	}
	o.r.w.After(o.r.w.Between(50*time.Millisecond, 300*time.Millisecond), o.speak)
}

// fill fills a value with what is known in this world, or with anything.
func (o *noise) fill(v reflect.Value) {
	n := o.r.nodes[o.chance.IntN(len(o.r.nodes))]
	switch to := v.Addr().Interface().(type) {
	case *ledger.Hash:
		*to = ledger.Hash{byte(o.chance.IntN(3))}
		switch o.chance.IntN(3) {
		case 0:
			pick(o, n.db.wholes(), to)
		case 1:
			pick(o, n.delegations, to)
		}
	case *wire.Whole:
		var h ledger.Hash
		wholes := n.db.wholes()
		if pick(o, wholes, &h); o.chance.IntN(2) == 0 {
			*to = wholes[h]
			return
		}
		o.each(v)
	case *ledger.Sequence:
		*to = ledger.Sequence{Counter: o.chance.Uint64N(4)}
		if all := n.db.sequences(); len(all) > 0 {
			*to = all[o.chance.IntN(len(all))]
		}
	case *ledger.StateID:
		if all := o.r.chain.head.States(); len(all) > 0 {
			*to = all[o.chance.IntN(len(all))]
		}
	case *ledger.Account:
		*to = n.account
	case *wire.Why:
		*to = wire.Why(o.chance.IntN(20))
	case *time.Duration:
		*to = time.Duration(o.chance.IntN(1e9))
	case *[]byte:
		*to = []byte("move red blue 1")[:o.chance.IntN(16)]
	case *string:
		*to = "said by nobody"
	default:
		o.each(v)
	}
}

func (o *noise) each(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			o.fill(field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), o.chance.IntN(4), 4))
		for i := range v.Len() {
			o.fill(v.Index(i))
		}
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(o.chance.Uint64N(4))
	case reflect.Int64, reflect.Int:
		v.SetInt(o.chance.Int64N(4))
	}
}

// pick sets a hash to one of those that a map has, if it has any.
func pick[V any](o *noise, m map[ledger.Hash]V, to *ledger.Hash) {
	if all := slices.SortedFunc(maps.Keys(m), func(a, b ledger.Hash) int { return slices.Compare(a[:], b[:]) }); len(all) > 0 {
		*to = all[o.chance.IntN(len(all))]
	}
}

// wholes are the contents that were stored.
func (d *database) wholes() map[ledger.Hash]wire.Whole {
	all := map[ledger.Hash]wire.Whole{}
	for _, c := range d.changes {
		if c.Sender != nil {
			for _, g := range c.Sender.Grants {
				all[g.Assembled] = g.Whole
			}
		}
		if c.Book != nil {
			for _, l := range c.Book.Landed {
				all[l.Assembled] = l.Whole
			}
		}
	}
	return all
}

// sequences are those of the intents that were stored.
func (d *database) sequences() (all []ledger.Sequence) {
	for _, c := range d.changes {
		if c.Sender != nil {
			for _, row := range c.Sender.Intents {
				all = append(all, row.Sequence)
			}
		}
	}
	return all
}
