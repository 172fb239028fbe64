package alerts

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/conchhq/conch/alerts/internal/watch"
	"github.com/conchhq/conch/internal/step"
)

// Post is where nodes report. Each call is one transaction, and needs no leadership.
type Post interface {
	// Report notes what a node says of itself, with its samples.
	Report(context.Context, Report) (Reported, error)
	// Claim reports whether this node is to say that nobody evaluates: the evaluation of that number is the last one still, and no other node has said so.
	Claim(ctx context.Context, node string, evaluation uint64) (bool, error)
}

// Samples takes what a node knows of itself.
type Samples interface {
	// Sample returns the samples of now, in the bytes that [Conditions] reads; nil: there are none.
	Sample() []byte
}

// Watcher reports the samples of this node, leading or not, and tells what no leader can: that the database cannot be asked, and that nobody evaluates.
type Watcher struct {
	cfg     Config
	post    Post
	samples Samples
	teller  Teller
	life    string
}

// NewWatcher returns a Watcher that does nothing until [Watcher.Run] is called.
func NewWatcher(cfg Config, post Post, samples Samples, teller Teller) (*Watcher, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Watcher{cfg: cfg, post: post, samples: samples, teller: teller, life: rand.Text()}, nil
}

// Run reports and watches until ctx ends, and returns its cause. Never call it twice at once.
func (w *Watcher) Run(ctx context.Context) error {
	b := &beat{Watcher: w, machine: watch.New(w.cfg.watch()), inbox: step.NewInbox[watch.Input](watch.Tick{}), troubles: newTroubles(w.cfg.Notice)}
	ctx, end := context.WithCancel(ctx)
	defer b.work.Wait()
	defer end()
	return step.Loop[watch.Input]{
		From: b.inbox, Wait: func() (time.Duration, bool) { return b.machine.Due() - time.Duration(w.cfg.Clock()), true },
		Tick: func() []watch.Input { return []watch.Input{watch.Tick{}} },
		Feed: step.Each(ctx, func(in watch.Input) error { b.step(ctx, in); return nil }),
	}.Run(ctx)
}

// beat is one run of a watcher.
type beat struct {
	*Watcher
	machine *watch.Machine
	inbox   *step.Inbox[watch.Input]
	work    sync.WaitGroup
	seq     uint64
	*troubles
}

func (b *beat) step(ctx context.Context, in watch.Input) {
	out := b.machine.Step(watch.Now{Boot: time.Duration(b.cfg.Clock()), Wall: time.Now().UTC()}, in)
	if out.Report {
		b.seq++
		r := Report{Node: Node{Name: b.cfg.Node, Life: b.life, Seq: b.seq, Cries: out.Cries, Hash: b.cfg.Hash}, Keep: b.cfg.Keep}
		b.ask(ctx, reports, watch.Unreported{}, func(ctx context.Context) (watch.Input, error) {
			r.Body = b.samples.Sample()
			got, err := b.post.Report(ctx, r)
			return watch.Reported{Evaluations: got.Evaluations, Nodes: got.Nodes}, err
		})
	}
	if out.Claims {
		b.ask(ctx, claims, watch.Claimed{}, func(ctx context.Context) (watch.Input, error) {
			mine, err := b.post.Claim(ctx, b.cfg.Node, out.Claim)
			return watch.Claimed{Mine: mine}, err
		})
	}
	for i, m := range out.Sends {
		b.work.Go(func() {
			answer, err := tell(ctx, b.teller, out.To[i], m)
			b.note(tells+out.To[i], err)
			b.inbox.Put(watch.Answered{Receiver: out.To[i], Answer: answer})
		})
	}
}

// ask has something done outside of the loop.
func (b *beat) ask(ctx context.Context, what string, failed watch.Input, do func(context.Context) (watch.Input, error)) {
	b.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, watch.Answers)
		defer cancel()
		answer, err := do(ctx)
		if b.note(what, err); err != nil {
			answer = failed
		}
		b.inbox.Put(answer)
	})
}
