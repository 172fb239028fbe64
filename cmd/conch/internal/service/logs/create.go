package logs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
)

// order is what a person wants of a log that is to be made.
type order struct {
	Members []string
	LeaseMS uint64 // 0: the usual one
}

const (
	drawPatience  = 8 * time.Second // for the answers of all members, before a log is made
	beginPatience = 5 * time.Second // for them to begin; after that they are told until they have
)

var (
	// errExists means that there is a log of that name, with other members.
	errExists = errors.New("there is a log of that name already")
	// errNotMade means that a log was not made, and nothing is left of the attempt that would be in the way.
	errNotMade = errors.New("no log was made")
)

// create makes the log, once: a second call with the same members returns the same log.
func (r *part) create(ctx context.Context, o order) (txlog.Genesis, error) {
	if g, known := r.began(); known {
		return r.same(g, o)
	}
	if err := r.able(o.Members, "this node"); err != nil {
		return txlog.Genesis{}, err
	}
	if !r.ID.IsZero() {
		return txlog.Genesis{}, fmt.Errorf("%w: the configuration names the id of another log: take id out until the new one is made", errNotMade)
	}
	if err := r.give(r.self); err != nil {
		return txlog.Genesis{}, fmt.Errorf("%w: %w", errNotMade, err)
	}
	members, err := r.gather(ctx, o.Members, txlog.ID{}, nil)
	if err != nil {
		return txlog.Genesis{}, fmt.Errorf("%w: %w", errNotMade, err)
	}
	g := txlog.Genesis{Namespace: r.Namespace, Machine: r.machine().full, Members: members, LeaseMS: o.LeaseMS}.With()
	_, _ = rand.Read(g.Nonce[:]) // never fails
	if err := g.Check(); err != nil {
		return txlog.Genesis{}, fmt.Errorf("%w: %w", txlog.ErrMembers, err)
	}
	return r.spread(ctx, g, o)
}

// same returns the log that is here, if it is the one that is wanted.
func (r *part) same(g txlog.Genesis, o order) (txlog.Genesis, error) {
	var names []string
	for _, m := range g.Members {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, sorted(slices.Clone(o.Members))) || o.LeaseMS != 0 && o.LeaseMS != g.LeaseMS {
		return txlog.Genesis{}, fmt.Errorf("%w: its id is %s, it began with the members %s and a lease of %d ms", errExists, g.ID(), strings.Join(names, ", "), g.LeaseMS)
	}
	return g, nil
}

// able checks names of members: whether this node can ask them, too. What it is to the user, as says.
func (r *part) able(names []string, as string) error {
	if err := set(names); err != nil {
		return err
	}
	for _, name := range names {
		if name != r.self && !r.may(name) {
			return fmt.Errorf("%w: %q is neither %s, %s, nor one of its [[peers]] that [[logs]] admits", txlog.ErrMembers, name, as, r.self)
		}
	}
	return nil
}

// set checks names of members.
func set(names []string) error {
	if len(names) == 0 || len(names) > txlog.MostMembers {
		return fmt.Errorf("%w: it has 1 to %d, and three is a good number", txlog.ErrMembers, txlog.MostMembers)
	}
	for i, name := range names {
		if slices.Index(names, name) < i {
			return fmt.Errorf("%w: %q is there twice", txlog.ErrMembers, name)
		}
	}
	return nil
}

// gather asks nodes for their stores, and returns the members that they would be. With a log it asks for the store that they
// have of it, and those who are members already stay as they are.
func (r *part) gather(ctx context.Context, names []string, log txlog.ID, already []txlog.Member) ([]txlog.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, drawPatience)
	defer cancel()
	r.reach(names)
	members, faults := make([]txlog.Member, len(names)), make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		if m, is := txlog.FindMember(already, name); is {
			members[i] = m
			continue
		}
		asking.Go(func() {
			if members[i], faults[i] = r.draft(ctx, name, log); faults[i] != nil {
				faults[i] = fmt.Errorf("%s: %w", name, faults[i])
			}
		})
	}
	asking.Wait()
	var texts []string
	for _, err := range faults {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) > 0 {
		return nil, errors.New(strings.Join(texts, "; "))
	}
	slices.SortFunc(members, func(a, b txlog.Member) int { return strings.Compare(a.Name, b.Name) })
	return members, nil
}

// reach has connections to nodes, besides those to the members.
func (r *part) reach(names []string) {
	all := map[string]string{}
	for _, name := range names {
		if name != r.self {
			all[name] = ""
		}
	}
	if h := r.running(); h != nil {
		for _, m := range h.Status().Members {
			if m.Name != r.self {
				all[m.Name] = ""
			}
		}
	}
	r.ground.Keep(topicOf(r.Namespace), maps.Clone(all))
}

// draft asks a node for its store.
func (r *part) draft(ctx context.Context, name string, log txlog.ID) (txlog.Member, error) {
	if name == r.self {
		id, err := r.own(ctx, log)
		return txlog.Member{Name: name, Key: r.key, Store: id}, err
	}
	answer, err := r.ask(ctx, question{log: log, to: just(name), with: func(serial uint64) any {
		return founding.Prepare{Serial: serial, Namespace: r.Namespace, Machine: r.machine().full}
	}})
	if err != nil {
		return txlog.Member{}, err
	}
	p, is := answer.body.(founding.Prepared)
	switch {
	case !is:
		return txlog.Member{}, errSilent
	case p.Why != "":
		return txlog.Member{}, errors.New(p.Why)
	}
	return txlog.Member{Name: name, Key: p.Key, Store: p.Store}, nil
}

func (r *part) own(ctx context.Context, log txlog.ID) (uint64, error) {
	if log.IsZero() {
		return r.drawStore(ctx)
	}
	return r.storeOf(log)
}

// spread keeps the genesis here first, and tells the members until all have begun. What a crash here interrupts the
// members end by themselves: they ask the others how the log began.
func (r *part) spread(ctx context.Context, g txlog.Genesis, o order) (txlog.Genesis, error) {
	r.mu.Lock()
	promised := r.promise.holds(r.self)
	r.mu.Unlock()
	if !promised { // this machine was suspended: what the members have promised later may have ended too, and be another node's
		return txlog.Genesis{}, fmt.Errorf("%w: it has taken so long that the members may have made another one", errNotMade)
	}
	select {
	case r.begin <- g:
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, beginPatience)
	defer cancel()
	for {
		if now, known := r.began(); known {
			if now.ID() != g.ID() { // somebody else's came first
				return r.same(now, o)
			}
			break
		}
		if pause.For(ctx, seekEvery/20) != nil {
			return txlog.Genesis{}, errors.New("this node has not begun with the log in time: its log says why; the same request again says what has become of it")
		}
	}
	r.log.Info("a log was made", slog.String("id", g.ID().String()))
	var begun sync.WaitGroup
	for _, m := range g.Members {
		if m.Name == r.self {
			continue
		}
		begun.Add(1)
		r.spawn(func() {
			defer begun.Done()
			r.tellBegin(r.over, m.Name, g)
		})
	}
	over := make(chan struct{})
	r.spawn(func() { begun.Wait(); close(over) })
	select {
	case <-over:
	case <-ctx.Done(): // the others go on being told
	}
	return g, nil
}

// tellBegin tells a member until it has begun, ever less often. One that has another log of that name stays with it.
func (r *part) tellBegin(ctx context.Context, name string, g txlog.Genesis) {
	pauses := pause.Growing{First: seekEvery / 5, Most: longestPause}
	begin := question{log: g.ID(), to: just(name), with: func(serial uint64) any { return founding.Begin{Serial: serial, Genesis: g} }}
	for said := ""; ; {
		answer, err := r.ask(ctx, begin)
		if err != nil {
			return // this node ends
		}
		switch b, is := answer.body.(founding.Begun); {
		case is && b.Why == "":
			r.log.Info("a member has begun with the log", slog.String("member", name))
			return
		case is && answer.log != g.ID():
			r.log.Warn("a member has another log of that name, and takes no part in this one: if that log is of no use, move its store away there and start that node again",
				slog.String("member", name), slog.String("its", answer.log.String()), slog.String("id", g.ID().String()))
			return
		case b.Why != said && b.Why != notYet:
			r.log.Warn("a member has not begun with the log yet", slog.String("member", name), slog.String("why", b.Why))
			said = b.Why
		}
		if pause.For(ctx, pauses.Next()) != nil {
			return
		}
	}
}

// errNotHere means that the log does not run here now.
var errNotHere = errors.New("the log does not run on this node now")
