package sequencer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
	"github.com/conchhq/conch/transport"
)

// twist is a lie: what a member says instead of messages of some kinds.
type twist struct {
	about []wire.Kind
	says  func(l *twistedLine, to string, body wire.Body) []wire.Body // nil: nothing
	told  atomic.Int64
}

// twister is a member's place in the network. A whole node runs behind it, so that all that is no lie is right.
type twister struct {
	transport.Endpoint
	twist *twist
}

func (l twister) Open(subject string) (transport.Line, error) {
	line, err := l.Endpoint.Open(subject)
	if err != nil {
		return nil, err
	}
	w := &twistedLine{Line: line, twist: l.twist, inbox: make(chan transport.Envelope), over: make(chan struct{}), delegated: map[string][]wire.Step{}}
	go w.listens()
	return w, nil
}

type twistedLine struct {
	transport.Line
	twist *twist
	inbox chan transport.Envelope
	over  chan struct{}
	once  sync.Once

	mu        sync.Mutex
	delegated map[string][]wire.Step // what it was handed last, by peer
}

// listens passes on what arrives, and remembers what was delegated.
func (l *twistedLine) listens() {
	for {
		select {
		case e := <-l.Line.Inbox():
			if msg, err := wire.Decode(e.Body[1:]); err == nil && e.Body[0] == 0 {
				l.notes(e.From, msg.Body)
			}
			select {
			case l.inbox <- e:
			case <-l.over:
				return
			}
		case <-l.over:
			return
		}
	}
}

func (l *twistedLine) notes(from string, body wire.Body) {
	d, is := body.(wire.Delegate)
	if !is {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delegated[from] = nil
	for _, o := range d.Intents {
		l.delegated[from] = append(l.delegated[from], wire.Step{Sequence: o.Sequence, Delegation: d.Delegation})
	}
}

func (l *twistedLine) Inbox() <-chan transport.Envelope { return l.inbox }

func (l *twistedLine) Close() {
	l.once.Do(func() { close(l.over) })
	l.Line.Close()
}

func (l *twistedLine) Send(to string, bytes []byte) error {
	if bytes[0] != 0 {
		return l.Line.Send(to, l.beats(bytes))
	}
	msg, err := wire.Decode(bytes[1:])
	if err != nil {
		return err
	}
	if !slices.Contains(l.twist.about, msg.Body.Kind()) {
		return l.Line.Send(to, bytes)
	}
	l.twist.told.Add(1)
	if l.twist.says == nil {
		return nil
	}
	for i, body := range l.twist.says(l, to, msg.Body) {
		if msg.Body = body; i > 0 {
			msg.Request = wire.RequestID{} // a notice
		}
		out, err := wire.Encode(msg)
		if err == nil {
			err = l.Line.Send(to, append([]byte{0}, out...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beats returns a heartbeat as a member sends it that lies in its lists.
func (l *twistedLine) beats(bytes []byte) []byte {
	b, err := wire.DecodeBeat(bytes[1:])
	if err != nil || !slices.Contains(l.twist.about, wire.KindList) {
		return bytes
	}
	for i := range b.Contracts {
		b.Contracts[i].Digest = wire.Digest{}
	}
	out, err := wire.EncodeBeat(b)
	if err != nil {
		return bytes
	}
	return append([]byte{1}, out...)
}

func spoilt(signature []byte) []byte {
	out := slices.Clone(signature)
	if len(out) > 0 {
		out[0] ^= 1
	}
	return out
}

// waysToLie are what a member can do with each message that it sends on behalf of others. TestALiarHandsOverNothing has handovers.
func waysToLie() map[string]*twist {
	return map[string]*twist{
		"nothing":                                {},
		"neither gives grants nor asks for them": silentAbout(wire.KindGranted, wire.KindAskGrant),
		"asks for no attempt":                    silentAbout(wire.KindAssemble),
		"asks for no endorsement":                silentAbout(wire.KindEndorse, wire.KindEndorsed),
		"lists nothing, and beats so":            {about: []wire.Kind{wire.KindList}, says: listsNothing},
		"hands nothing over":                     silentAbout(wire.KindHandover),
		"refuses everything":                     {about: []wire.Kind{wire.KindAccepted, wire.KindEndorsed, wire.KindGranted}, says: refuses},
		"signs wrongly":                          {about: []wire.Kind{wire.KindEndorsed, wire.KindGranted}, says: signsWrongly},
		"returns what it has accepted":           {about: []wire.Kind{wire.KindAccepted}, says: returns},
	}
}

func silentAbout(kinds ...wire.Kind) *twist { return &twist{about: kinds} }

func refuses(_ *twistedLine, _ string, b wire.Body) []wire.Body {
	switch b := b.(type) {
	case wire.Accepted:
		return []wire.Body{wire.Rejected{Why: wire.Busy}}
	case wire.Endorsed:
		for i := range b.Verdicts {
			b.Verdicts[i].Signature, b.Verdicts[i].Why = nil, wire.Refused
		}
	case wire.Granted:
		for i := range b.Items {
			b.Items[i].Grant, b.Items[i].Why = ledger.Grant{}, wire.Unknown
		}
	}
	return []wire.Body{b}
}

func signsWrongly(_ *twistedLine, _ string, b wire.Body) []wire.Body {
	switch b := b.(type) {
	case wire.Endorsed:
		for i := range b.Verdicts {
			b.Verdicts[i].Signature = spoilt(b.Verdicts[i].Signature)
		}
	case wire.Granted:
		for i := range b.Items {
			b.Items[i].Grant.Signature = spoilt(b.Items[i].Grant.Signature)
		}
	}
	return []wire.Body{b}
}

// listsNothing has none of what it has. Its heartbeats say so too, or nobody would ask.
func listsNothing(*twistedLine, string, wire.Body) []wire.Body { return []wire.Body{wire.List{}} }

// returns accepts what it is handed, and gives it back at once, as what the members have refused.
func returns(l *twistedLine, to string, b wire.Body) []wire.Body {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []wire.Body{b, wire.Returned{Items: l.delegated[to], Why: wire.Refused}}
}

// neverSubmits is a ledger to which nothing is submitted.
type neverSubmits struct{ sequencer.Ledger }

func (neverSubmits) Submit(context.Context, ledger.Sent) error { return nil }

const (
	lyingBlock = 100 * time.Millisecond
	lyingRange = 40
)

// Q3, I10: one of five members lies with its messages for five ranges, and coordinates as often as any. What is honest lands, and
// takes two ranges at most. On the same network, with nobody who lies, it takes half a second.
func TestALiarDelaysLittle(t *testing.T) {
	t.Parallel()
	pgtest.LongRun(t)
	for name, how := range waysToLie() {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { besideALiar(t, how, false) }) })
	}
	t.Run("submits nothing", func(t *testing.T) {
		bubble(t, func(t *testing.T) { besideALiar(t, &twist{}, true) })
	})
}

// victims are the users of honest members.
type victims struct {
	ctx context.Context
	t   *testing.T

	mu   sync.Mutex
	took []time.Duration
	open int // payments that were not confirmed
}

func (v *victims) pay(o *organisation, id, request string) {
	began := time.Now()
	_, err := o.node.Submit(v.ctx, "k", id, []byte(request), 0)
	if err != nil {
		v.t.Error(err)
		return
	}
	r, err := o.node.Wait(v.ctx, "k", id)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.took = append(v.took, time.Since(began)); err != nil || !r.Confirmed {
		v.open++
	}
}

func besideALiar(t *testing.T, how *twist, mute bool) {
	t.Helper()
	g := newGroup(t, 5, 3)
	g.declared.Range, g.declared.Life, g.sleepAfter = lyingRange, lyingRange/2, time.Minute // as conch contract deploy has them to each other
	g.chain = sequencer.NewChain(g.declared, ledger.Plain{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	working.Go(func() { g.chain.Run(ctx, lyingBlock) })
	working.Go(func() { // blocks come anyhow
		for each := time.Tick(lyingBlock); ctx.Err() == nil; <-each {
			_ = g.chain.Nudge(ctx)
		}
	})
	g.members[4].twist = how
	if mute {
		g.members[4].ledger = neverSubmits{g.chain}
	}
	for _, o := range g.members {
		o.start()
	}
	v := &victims{ctx: ctx, t: t}
	for i := range 4 {
		v.pay(g.members[0], fmt.Sprint("funds ", i), `{"issue": {"to": "office", "amount": 1000}}`)
	}
	v.took = nil
	var paying sync.WaitGroup
	each := time.Tick(2 * lyingBlock)
	for i := range 5 * lyingRange / 2 {
		<-each
		paying.Go(func() {
			v.pay(g.members[i%4], fmt.Sprint("payment ", i), fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": %d}}`, i%3, 1+i%7))
		})
	}
	paying.Wait()
	slices.Sort(v.took)
	worst := v.took[len(v.took)-1]
	t.Logf("%d payments: half within %v, nine of ten within %v, all within %v; %d entries skipped",
		len(v.took), v.took[len(v.took)/2], v.took[len(v.took)*9/10], worst, g.chain.Skipped())
	if len(how.about) > 0 && how.told.Load() == 0 {
		t.Error("the liar had nothing to say: this shows nothing")
	}
	limit := 2 * lyingRange * lyingBlock
	if mute { // until its last block, what was granted to the liar is granted to nobody else
		limit += time.Duration(g.declared.Life) * lyingBlock
	}
	if worst > limit || v.open > 0 {
		t.Errorf("an honest payment took %v, and %d were not confirmed; want %v at most, and all", worst, v.open, limit)
	}
}

// Q6, I2: transactions alone bring blocks, and a coordinator accepts work and leaves it alone. Its range ends all the same.
func TestALiarWhereBlocksAreRare(t *testing.T) {
	t.Parallel()
	pgtest.LongRun(t)
	for _, left := range []wire.Kind{wire.Assemble{}.Kind(), wire.Endorse{}.Kind(), wire.AskGrant{}.Kind()} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGroup(t, 5, 3)
				g.declared.Range, g.declared.Life, g.sleepAfter = 10, 5, time.Minute
				g.chain = sequencer.NewChain(g.declared, ledger.Plain{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				var working sync.WaitGroup
				defer working.Wait()
				defer cancel()
				working.Go(func() { g.chain.Run(ctx, lyingBlock) })
				for _, o := range g.members {
					o.twist = &twist{about: []wire.Kind{left}}
				}
				honest := g.members[0] // all others coordinate nothing to its end
				honest.twist = nil
				for _, o := range g.members {
					o.start()
				}
				v := &victims{ctx: ctx, t: t}
				for i := range 3 {
					v.pay(honest, fmt.Sprint("payment ", i), `{"issue": {"to": "office", "amount": 1000}}`)
				}
				if t.Log(v.took); v.open > 0 {
					t.Errorf("%d payments of 3 are still open after %v", v.open, v.took)
				}
			})
		})
	}
}
