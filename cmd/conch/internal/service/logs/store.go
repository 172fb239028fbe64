package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// lockPatience is how long a store is waited for that another process has.
const lockPatience = 5 * time.Second

// open opens the store. If there is none, or no log has begun in it, it waits until it is known how the log began.
func (r *part) open(ctx context.Context) (*disk.Store, error) {
	s, err := r.opened(ctx)
	if err == nil {
		g := s.Genesis()
		why := r.fits(g)
		switch {
		case why == nil:
			r.believe(g)
			return s, nil
		case r.ID.IsZero() || g.ID() == r.ID:
			return nil, errors.Join(fmt.Errorf("%w: correct the configuration, or move the store %s away", why, r.Store), s.Close())
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
		return r.succeed(ctx, g.ID(), why)
	}
	if !errors.Is(err, disk.ErrNoLog) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := r.crowded(); err != nil {
		return nil, err
	}
	g, err := r.learn(ctx, nil)
	if err != nil {
		return nil, err
	}
	return r.started(ctx, g)
}

// mostAside is how many stores may be set aside before a person has to look: the disk must not be filled with them.
const mostAside = 5

// crowded returns why no new store is made: so many were set aside that this is no accident. The last one is aside too, since it may have
// forgotten what it promised.
func (l *Log) crowded() error {
	all, err := os.ReadDir(filepath.Dir(l.Store))
	if err != nil {
		return nil //nolint:nilerr // what makes the folder, or the store in it, says what is wrong
	}
	aside := 0
	for _, f := range all {
		if n, is := strings.CutPrefix(f.Name(), filepath.Base(l.Store)+".aside-"); is && strings.Trim(n, "0123456789") == "" {
			aside++
		}
	}
	if aside < mostAside {
		return nil
	}
	return fmt.Errorf("%d stores were set aside on this node, and it makes no other one: look at its disk and its memory, and move the files %s.aside-* elsewhere or remove them. With fewer than %d it goes on by itself", aside, l.Store, mostAside)
}

// started begins with a log in a store that has none. The state with which one begins that goes on with another log, the host fetches.
func (r *part) started(ctx context.Context, g txlog.Genesis) (*disk.Store, error) {
	if _, err := r.drawStore(ctx); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	s, err := disk.Begin(within, r.Store, g)
	if err != nil {
		return nil, err
	}
	r.believe(g)
	return s, nil
}

// succeed moves the store of a log aside that has ended, for the one that the configuration names, if that one goes on with it.
func (r *part) succeed(ctx context.Context, old txlog.ID, why error) (*disk.Store, error) {
	g, err := r.learn(ctx, fmt.Errorf("%w, and no node has said yet how that one began: if it does not go on with the first, correct the configuration, or move the store %s away", why, r.Store))
	if err != nil {
		return nil, err
	}
	if g.Parent.Log != old {
		return nil, fmt.Errorf("%w, which does not go on with the first: correct the configuration, or move the store %s away", why, r.Store)
	}
	within, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	kept, err := disk.Retire(within, r.Store)
	if err != nil {
		return nil, err
	}
	r.log.Warn("the log goes on as another one, which the configuration names: the store of the old one is kept", slog.String("old", old.String()), slog.String("id", g.ID().String()), slog.String("kept", kept))
	return r.started(ctx, g)
}

func (r *part) opened(ctx context.Context) (*disk.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	return disk.Open(ctx, r.Store)
}

// drawStore makes a store in which no log has begun, and returns its id. One that is there is taken as it is.
func (r *part) drawStore(ctx context.Context) (id uint64, err error) {
	if err := cmp.Or(r.shut(), r.crowded()); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(r.Store), 0o700); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	return disk.Create(ctx, r.Store)
}

// fits checks that a genesis is of this log.
func (l *Log) fits(g txlog.Genesis) error {
	switch {
	case g.Namespace != l.Namespace:
		return fmt.Errorf("the log is called %q there, and %q in the configuration", g.Namespace, l.Namespace)
	case g.Machine != l.machine().full:
		return fmt.Errorf("its state machine is %q, and the configuration says %q (machine in [[logs]])", g.Machine, l.machine().full)
	case !l.ID.IsZero() && g.ID() != l.ID:
		return fmt.Errorf("the id of the log is %s, and the configuration says %s", g.ID(), l.ID)
	}
	return nil
}

// believe notes how the log began. It is never another one while the process lives, unless the store is.
func (r *part) believe(g txlog.Genesis) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.genesis = &g
	clear(r.known)
	clear(r.others)
}

// spoiled moves a store aside that is of no use to anybody, so that the node can begin with a new one, and says so in the error. Any other
// error it returns as it is. The new store is no member's until the leader has it admitted, so that nothing is forgotten that was promised.
func (r *part) spoiled(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrSync) || !errors.Is(err, store.ErrDamaged) && !errors.Is(err, quorum.ErrLost) {
		return err
	}
	within, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	to, failed := disk.SetAside(within, r.Store)
	if failed != nil {
		return errors.Join(err, fmt.Errorf("and it cannot be moved aside: %w", failed))
	}
	r.counts.setAside()
	if g, known := r.began(); known { // the log is the same one
		select {
		case r.begin <- g:
		default:
		}
	}
	return fmt.Errorf("%w. The store was moved aside to %s and is kept: this node begins with a new one, fetches the log from the others, and asks to be admitted if it is a member", err, to)
}
