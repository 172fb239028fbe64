package logs

import (
	"context"
	"crypto"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// The states of a part.
const (
	stateOpening = "opening" // it reads its store
	stateWaiting = "waiting" // nobody has said yet how the log began
	stateRunning = "running"
	stateFailed  = "failed" // and tries again
)

// part is one log on this node, from the start of the node to its end.
type part struct {
	Log

	self   string
	signer crypto.Signer
	key    txlog.Hash // its fingerprint
	ground *node.Ground
	over   context.Context //nolint:containedctx // it ends with the node
	spawn  func(func())    // runs what must end with it
	log    *slog.Logger
	tell   func(*part, quorum.Event)
	line   *line
	counts *counts
	later  atomic.Int64 // goals for which nobody waits

	mu         sync.Mutex
	state      string
	why        error          // with stateFailed, or why nothing is believed
	gone       error          // what has become of the store's file under this node; nil: it is there
	closed     bool           // the disk has failed: the store is not used again before the next start of this process
	genesis    *txlog.Genesis // nil: it is not known
	follows    bool           // it was no member when the log ran here last
	host       *quorum.Host   // nil: it does not run
	store      *disk.Store    // nil: it is not open
	promise    promise
	asks       map[uint64]chan told
	serial     uint64             // begins by chance, so that an answer to the process before is none to this one
	known      map[string]word    // by the node that has said it, while nobody is believed
	others     map[string]speech  // by node of [[peers]], of which log of this name it speaks, once one is believed
	begin      chan txlog.Genesis // what is to be begun with
	grown      chan struct{}      // closed when the copy has grown
	busy       map[string]bool    // what is under way for other nodes; see alone
	neighbours []string           // names of [[peers]], of the last reload
}

func newPart(l Log, self string, neighbours []string, signer crypto.Signer, f node.Frame, tell func(*part, quorum.Event)) *part {
	r := &part{
		Log: l, self: self, neighbours: neighbours, signer: signer, ground: f.Ground, over: f.Over, spawn: f.Go, log: f.Log.With(slog.String("log", l.Namespace)), tell: tell, state: stateOpening, counts: newCounts(),
		asks: map[uint64]chan told{}, busy: map[string]bool{}, serial: draw(), known: map[string]word{}, others: map[string]speech{}, begin: make(chan txlog.Genesis, 1), grown: make(chan struct{}),
	}
	r.key = fingerprintOf(signer)
	r.line = newLine(topicOf(l.Namespace), r.founded)
	return r
}

// Pauses after a failure, before the store is tried again.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// run takes part in the log until ctx ends, or its disk fails.
func (r *part) run(ctx context.Context) {
	pauses := pause.Growing{First: firstPause, Most: longestPause}
	for ctx.Err() == nil {
		began := time.Now()
		err := r.once(ctx)
		switch {
		case errors.Is(err, store.ErrSync):
			r.close(err)
			return
		case ctx.Err() == nil && err != nil:
			wait := pauses.After(time.Since(began))
			r.set(stateFailed, err)
			r.log.Error("the log does not run on this node, and is tried again", slog.Any("error", err), slog.Duration("in", wait))
			_ = pause.For(ctx, wait)
		}
	}
}

// close gives the log up on this node since its disk has failed: what is there of the last step nobody knows, and the system may say what the
// disk does not have, until the next start reads all of it. The node's other logs have stores of their own.
func (r *part) close(err error) {
	text := "the disk has failed to write"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		text = "the disk is full"
	}
	err = fmt.Errorf("%s: %w", text, err)
	r.set(stateFailed, err)
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.log.Error("the log is closed on this node until its next start. The node goes on without it", slog.Any("error", err))
}

// shut returns why this node's store must not be used; nil: it may be.
func (r *part) shut() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.why
	}
	return nil
}

// once opens the store and takes part until something ends that.
func (r *part) once(ctx context.Context) error {
	r.set(stateOpening, nil)
	s, err := r.open(ctx)
	if err != nil {
		return r.spoiled(ctx, err)
	}
	err = r.serve(ctx, s)
	return r.spoiled(ctx, errors.Join(err, s.Close()))
}

// serve runs the host on an open store.
func (r *part) serve(ctx context.Context, s *disk.Store) error {
	giveBack := r.line.lend()
	defer giveBack()
	h, err := quorum.New(quorum.Config{
		Self: r.self, Key: r.signer, New: r.machine().make, Seed: draw(), GoalTimeout: r.Timeout, Submits: r.submits,
		Store: s, Line: r.line, Peers: r.peersNow, Publish: r.publish,
		Tell: func(e quorum.Event) { r.heard(e) },
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.host, r.store, r.state, r.why, r.gone = h, s, stateRunning, nil, nil
	r.mu.Unlock()
	g := s.Genesis()
	r.log.Info("the log runs on this node", slog.String("id", g.ID().String()), slog.Uint64("index", h.Position().Index), slog.Uint64("store", s.View().ID))
	r.keep(h.Status().Members)
	within, over := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { defer close(watched); r.watch(within, h) }()
	err = h.Run(ctx)
	over()
	<-watched
	r.mu.Lock()
	r.host, r.store, r.state = nil, nil, stateOpening
	r.mu.Unlock()
	return err
}

// watchEvery is how often it is looked whether the log stands.
const watchEvery = 5 * time.Second

// watch tells the log of the node when something keeps this log from going on, and when that is over.
func (r *part) watch(ctx context.Context, h *quorum.Host) {
	said := ""
	for look := 0; pause.For(ctx, watchEvery) == nil; look++ {
		r.askAround(look)
		r.lookAtFile()
		st := h.Status()
		now := r.advice(st)
		switch {
		case len(st.Members) == 0: // it has ended
		case now != "" && said == "":
			r.log.Warn("the log does not go on here", slog.String("why", now))
		case now == "" && said != "":
			r.log.Info("the log goes on")
		}
		said = now
	}
}

// lookAtFile notes whether the store's file is still there.
func (r *part) lookAtFile() {
	s := r.reading()
	if s == nil {
		return
	}
	err := s.Gone()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.gone == nil {
		r.log.Error("the log goes on in a file that is lost with this process", slog.Any("error", err), slog.String("remedy", refetch))
	}
	r.gone = err
}

// refetch is what to do about a store whose file is gone.
const refetch = "while a majority of the members works, restart this node: it fetches the log from them, and asks to be admitted again. Never restart a majority so"

// heard takes an event of the host. It is called by its loop, and does not wait.
func (r *part) heard(e quorum.Event) {
	switch e := e.(type) {
	case quorum.Applied:
		r.grow()
		for _, rec := range e.Records {
			if rec.Kind == txlog.Changed {
				r.keep(rec.Members)
			}
		}
	case quorum.Fetched: // the members may be others
		r.grow()
		if h := r.running(); h != nil {
			r.keep(h.Status().Members)
		}
	}
	r.counts.count(e)
	r.tell(r, e)
}

// grow wakes those that wait for entries.
func (r *part) grow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.grown)
	r.grown = make(chan struct{})
}

// growth returns what is closed when the copy grows.
func (r *part) growth() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.grown
}

// keep has connections to the members: goals go there.
func (r *part) keep(members []txlog.Member) {
	names := map[string]string{}
	for _, m := range members {
		if m.Name != r.self {
			names[m.Name] = ""
		}
	}
	r.ground.Keep(topicOf(r.Namespace), names)
	r.suggest(r.ground.Suggested()) // it may have become a member, and gossip says it once
}

// may reports whether a node may be a member of the log, and have one made or its members changed: the nodes of the configuration
// alone. A guest, which is connected because the CA has signed its certificate, follows at most.
func (r *part) may(name string) bool {
	return slices.Contains(r.near(), name) && (r.Peers == nil || slices.Contains(r.Peers, name))
}

// submits reports whether this node takes goals of another one while it leads: of each that is connected, guests too, unless the log's
// peers are named.
func (r *part) submits(name string) bool { return r.Peers == nil || r.may(name) }

// near returns the names of [[peers]].
func (r *part) near() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.neighbours
}

// reload takes other [[peers]].
func (r *part) reload(neighbours []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.neighbours = neighbours
	maps.DeleteFunc(r.others, func(name string, _ speech) bool { return !slices.Contains(neighbours, name) })
}

// peersNow returns the nodes that are connected and may be asked about the log. What they answer is proven, so guests may be asked too.
func (r *part) peersNow() []string {
	n := r.line.now()
	if n == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(n.Peers()), func(name string) bool { return r.Peers != nil && !slices.Contains(r.Peers, name) })
}

// suggest passes on whom gossip names, if it is a member: nobody else can lead.
func (r *part) suggest(name string) {
	h := r.running()
	if h == nil {
		return
	}
	if _, is := txlog.FindMember(h.Status().Members, name); !is {
		name = ""
	}
	h.Suggest(name)
}

// publish has all nodes told a head. It is lost while the network is away: the next one says more.
func (r *part) publish(head []byte) {
	if n := r.line.now(); n != nil {
		if err := n.Publish(topicOf(r.Namespace), head); err != nil {
			r.log.Debug("a head is not published", slog.Any("error", err))
		}
	}
}

// running returns the host, nil if it does not run.
func (r *part) running() *quorum.Host {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.host
}

// reading returns the store, nil if it is not open.
func (r *part) reading() *disk.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store
}

// began returns how the log began, as far as it is known.
func (r *part) began() (g txlog.Genesis, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.genesis == nil {
		return g, false
	}
	return *r.genesis, true
}

func (r *part) set(state string, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.why = state, why
}

// draw returns 64 random bits.
func draw() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
