package sequencer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// ended is a ledger that answers nothing since the node has ended.
type ended struct{ Ledger }

func (ended) Nudge(ctx context.Context) error { return ctx.Err() }

// What fails since the node ends is no trouble, and no input.
func TestTheEndIsNoTrouble(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	n := &Node{
		ctx: ctx, cfg: Config{Store: &written{}, Log: slog.New(slog.DiscardHandler)}, inbox: step.NewInbox[func()](), outages: newOutages(),
		places: map[string]*place{"k": {set: &Contract{Ledger: ended{}}}},
	}
	n.act(core.Nudge{ID: 1, Contract: "k"})
	n.commit([]core.Write{{ID: 2}}) // whether it is durable is read at the next start
	if n.group.Wait(); len(n.inbox.Take()) > 0 {
		t.Error("the core hears of it")
	}
}

// moody is a ledger that answers each question at the second time, and no review in time.
type moody struct {
	Ledger
	asked int
}

var errMoody = errors.New("not now")

func (l *moody) fault() error {
	if l.asked++; l.asked == 1 {
		return errMoody
	}
	return nil
}

func (l *moody) Submit(context.Context, ledger.Sent) error { return l.fault() }

func (l *moody) Final(context.Context, []ledger.Intent, []ledger.StateID) (ledger.View, error) {
	return nil, l.fault()
}

func (l *moody) Heed(context.Context, func()) (leave func(), err error) {
	return func() {}, nil
}

func (l *moody) Review(ctx context.Context, _ []ledger.Entry) ([]ledger.Entry, string, error) {
	l.asked++
	<-ctx.Done()
	return nil, "", ctx.Err()
}

// What has to be done is done again until it is: what is handed in, and a question that an intent waits for. Another one is asked again by the
// core, and a review that takes too long holds up what is to be handed in.
func TestWhatIsInsistedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		act   core.Act
		asked int
		heard int // how much the core is told
		took  time.Duration
	}{
		"handed in":           {core.HandIn{ID: 1, Contract: "k"}, 2, 2, 100 * time.Millisecond}, // that it was refused, too
		"a question":          {core.ReadFinal{ID: 1, Contract: "k"}, 1, 1, 0},
		"an urgent question":  {core.ReadFinal{ID: 1, Contract: "k", Insist: true}, 2, 1, 100 * time.Millisecond},
		"a review for nobody": {core.Review{ID: 1, Contract: "k"}, 1, 1, reviewPatience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &moody{}
				n := &Node{
					ctx: t.Context(), cfg: Config{Log: slog.New(slog.DiscardHandler)}, inbox: step.NewInbox[func()](), outages: newOutages(),
					places: map[string]*place{"k": {set: &Contract{Ledger: l}}},
				}
				began := time.Now()
				n.act(c.act)
				n.group.Wait()
				if took, heard := time.Since(began), len(n.inbox.Take()); l.asked != c.asked || heard != c.heard || took != c.took {
					t.Errorf("it is asked %d times in %v, and the core is told %d times; want %d, %v and %d", l.asked, took, heard, c.asked, c.took, c.heard)
				}
			})
		})
	}
}

// winding is a ledger that is followed three times: it tells of a block, then of a rewind, and then of nothing.
type winding struct {
	Ledger
	after []uint64
	stop  context.CancelFunc
}

func (l *winding) Follow(_ context.Context, after uint64, tell func(any)) error {
	switch l.after = append(l.after, after); len(l.after) {
	case 1:
		tell(ledger.Block{Number: 5})
	case 2:
		tell(ledger.Rewind{To: 3})
	default:
		l.stop()
	}
	return errMoody
}

// A ledger that fails is followed again from where it was: a block that is told twice, or not at all, is the end of a contract.
func TestALedgerIsFollowedFromWhereItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		l := &winding{stop: stop}
		p := &place{set: &Contract{Ledger: l, Declared: ledger.Contract{Address: "k"}}}
		n := &Node{
			ctx: ctx, cfg: Config{Log: slog.New(slog.DiscardHandler)}, calls: make(chan func(), 2), outages: newOutages(), places: map[string]*place{"k": p},
		}
		n.follow(p, core.Follow{Contract: "k", After: 2})
		if n.group.Wait(); !slices.Equal(l.after, []uint64{2, 5, 3}) {
			t.Errorf("it is followed after the blocks %v", l.after)
		}
	})
}

// broken is a store that cannot be read.
type broken struct{ Store }

func (broken) Load(context.Context, string) (core.Stored, error) { return core.Stored{}, errMoody }

// A start whose store cannot be read ends, and says of which contract.
func TestAStartWithoutAStore(t *testing.T) {
	t.Parallel()
	cfg := Config{Store: broken{}, Contracts: []Contract{{Declared: ledger.Contract{Address: "k"}}}}
	n := &Node{cfg: cfg, places: map[string]*place{"k": {set: &cfg.Contracts[0]}}}
	if err := n.begin(t.Context()); !errors.Is(err, errMoody) || !strings.Contains(err.Error(), "contract k") {
		t.Errorf("it ends with %v", err)
	}
}

// silent is a ledger that tells of nothing.
type silent struct{ Ledger }

func (silent) Follow(ctx context.Context, _ uint64, _ func(any)) error {
	<-ctx.Done()
	return ctx.Err()
}

// behind is a node without a loop, whose contract wakes when it hears of block 24: with it a block is final that the store does not have.
func behind(t *testing.T) *Node {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	k := Contract{Ledger: silent{}, Rules: struct{ domain.Rules }{}, Scheme: model.Fake{}, Declared: ledger.Contract{
		Chain: 1, Address: "k", Members: []ledger.Account{"a"}, Committee: []ledger.Account{"a"}, Needed: 1, Range: 10, Depth: 3, Life: 6, Domain: "d",
	}}
	n := &Node{
		ctx: ctx, cfg: Config{Self: "a", Log: slog.New(slog.DiscardHandler)}, inbox: step.NewInbox[func()](), writes: step.NewInbox[core.Write](),
		calls: make(chan func(), 1), outages: newOutages(), chronicle: newChronicle(), waiting: map[uint64]waiting{}, places: map[string]*place{"k": {set: &k}},
		core: core.New(core.Config{
			Self: "a", Secret: [32]byte{1}, SleepAfter: time.Hour, Coordinates: drawn(), Owns: drawn(), Fetches: drawn(),
			Contracts: []core.Contract{{Declared: k.Declared, Rules: k.Rules, Scheme: k.Scheme}},
		}),
	}
	opened, err := n.core.Open("k", core.Read{Lineage: 1, Head: 24, Stored: core.Stored{Book: book.Snapshot{Number: 20}}})
	if err != nil {
		t.Fatal(err)
	}
	n.feed(opened)
	t.Cleanup(func() { stop(); n.group.Wait() })
	return n
}

// wakes has the blocks come, and returns what is stored then: of the book, of an intent, or of nothing.
func (n *Node) wakes() (order []string) {
	for number := uint64(21); number <= 24; number++ {
		n.feed(core.Followed{Contract: "k", Life: 1, Step: ledger.Block{Number: number}})
	}
	for _, w := range n.writes.Take() {
		switch {
		case w.Change.Book != nil:
			order = append(order, "book")
		case w.Change.Sender != nil:
			order = append(order, "intent")
		default:
			order = append(order, "nothing")
		}
	}
	return order
}

// P38: what a step stores is queued before anybody is told of the step, since they may store something in turn.
func TestAStepStoresBeforeItTells(t *testing.T) {
	t.Parallel()
	n := behind(t)
	n.with(n.places["k"], 1, func() {
		n.feed(core.Submit{Contract: "k", IntentRow: sender.IntentRow{Key: "a", Payload: []byte("p")}})
	}, nil)
	if order := n.wakes(); !slices.Equal(order, []string{"book", "intent"}) {
		t.Errorf("these are stored: %q", order)
	}
}

// A user that has left was told that nothing was done, and then nothing is.
func TestAUserThatHasLeftCancelsNothing(t *testing.T) {
	t.Parallel()
	for left, want := range map[bool][]string{false: {"book", "nothing"}, true: {"book"}} {
		n := behind(t)
		ctx, leave := context.WithCancel(t.Context())
		n.group.Go(func() { _ = n.Cancel(ctx, "k", ledger.Sequence{Lineage: 1, Counter: 1}) })
		if (<-n.calls)(); left {
			leave()
		}
		if order := n.wakes(); !slices.Equal(order, want) {
			t.Errorf("the user has left %v, and these are stored: %q", left, order)
		}
		leave()
	}
}

// What others say waits until the loop has room for it; what this node has asked for does not.
func TestWhatOthersSayWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		n := &Node{ctx: ctx, inbox: step.NewInbox[func()](), calls: make(chan func(), 2)}
		for range 2 {
			n.hear(core.Beaten{})
		}
		heard := false
		n.group.Go(func() {
			n.hear(core.Beaten{})
			heard = true
		})
		n.put(core.Written{})
		if synctest.Wait(); heard {
			t.Error("a third message has found room")
		}
		<-n.calls
		if synctest.Wait(); !heard {
			t.Error("there is room, and it still waits")
		}
		n.group.Go(func() { n.hear(core.Beaten{}) })
		synctest.Wait()
		stop() // what waits then waits no more
		n.group.Wait()
	})
}

// watched is a ledger that says who heeds it.
type watched struct {
	*moody

	told func()
}

func (l *watched) Heed(_ context.Context, told func()) (leave func(), err error) {
	l.told = told
	return func() { l.told = nil }, nil
}

// P33: what a contract's submitter gives up is told to the core at once, as long as the contract is followed.
func TestTheSubmitterIsHeeded(t *testing.T) {
	t.Parallel()
	l := &watched{moody: &moody{}}
	n := &Node{inbox: step.NewInbox[func()]()}
	p := &place{set: &Contract{Ledger: l}}
	leave, err := n.heed(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if l.told(); len(n.inbox.Take()) != 1 {
		t.Error("the core is not told")
	}
	if leave(); l.told != nil {
		t.Error("it is heeded still")
	}
}
