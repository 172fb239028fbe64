package chunksync

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/conchhq/conch/fence"
)

// AsConfigured makes a write wait for Config.Copies peers.
const AsConfigured = -1

// Receipt is the result of a write.
type Receipt struct {
	Version Version // the catalog with the write
	File    File    // zero after Remove
	Copies  int     // number of peers known to hold it
}

// Put stores content as the file of that name and returns once copies peers hold it. With
// fewer copies than Config.Copies, which [AsConfigured] selects, a successor may not find
// it. The write is atomic. Putting the same content again changes nothing and waits alike.
//
// After [ErrUnconfirmed], joined with the cause of ctx or a *[StaleError], the write is in
// this node's catalog but may not survive it: put it again. These errors leave the file as
// it was: *[NameError], [ErrCopies], [ErrTooLarge], [ErrFull], [ErrTakingOver], an error of
// the reader, or a *[fence.ShutError] if this node does not lead.
func (m *Manager) Put(ctx context.Context, name string, content io.Reader, copies int) (Receipt, error) {
	if err := checkName(name); err != nil {
		return Receipt{}, err
	}
	l, err := m.leader()
	if err != nil {
		return Receipt{}, err
	}
	if copies, err = l.checkCopies(copies); err != nil {
		return Receipt{}, err
	}
	f, unpin, err := l.Store.addContent(content, l.MaxFile)
	defer unpin()
	if err != nil {
		return Receipt{}, err
	}
	return l.write(ctx, name, &f, copies)
}

// Remove removes a file, with the copies and errors of Put. A missing file is no error.
func (m *Manager) Remove(ctx context.Context, name string, copies int) (Receipt, error) {
	if err := checkName(name); err != nil {
		return Receipt{}, err
	}
	l, err := m.leader()
	if err != nil {
		return Receipt{}, err
	}
	if copies, err = l.checkCopies(copies); err != nil {
		return Receipt{}, err
	}
	return l.write(ctx, name, nil, copies)
}

// checkCopies returns the number of peers that a write must wait for.
func (l *loop) checkCopies(copies int) (int, error) {
	if copies == AsConfigured {
		copies = l.Config.copies()
	}
	if copies < 0 || copies > len(l.Peers) {
		return 0, fmt.Errorf("%w: %d is not between 0 and %d", ErrCopies, copies, len(l.Peers))
	}
	return copies, nil
}

// leader returns the leadership of this node, if its gate is open.
func (m *Manager) leader() (*loop, error) {
	l := m.lead.Load()
	var err error = &fence.ShutError{Scope: m.cfg.Scope, Door: fence.Fenced, Holder: m.cfg.Store.promised().Holder}
	if l != nil {
		err = l.gate.EnsureEpoch(fence.Fenced, l.token.Epoch)
	}
	if err != nil {
		m.cfg.Events.refused(err)
		return nil, err
	}
	return l, nil
}

func (l *loop) write(ctx context.Context, name string, f *File, copies int) (Receipt, error) {
	if err := l.await(ctx, (*machine).Leading); err != nil {
		return Receipt{}, fmt.Errorf("%w: %w", ErrTakingOver, err)
	}
	out := Receipt{}
	if f != nil {
		out.File = *f
	}
	err := l.gate.Do(ctx, fence.Fenced, 0, func(_ context.Context, t fence.Token) (err error) {
		if t.Epoch != l.token.Epoch { // this node leads again; the content came in its earlier term
			return &StaleError{Got: l.tenure, Promised: tenureOf(t), Holder: t.Holder}
		}
		out.Version, err = l.change(name, f)
		return err
	})
	if err != nil {
		switch {
		case errors.Is(err, fence.ErrStale):
			l.inbox.Put(deposed{})
		case errors.Is(err, ErrDamaged) || l.Store.doubt() != nil:
			l.end(err) // another node can lead
		}
		return Receipt{}, err
	}
	l.inbox.Put(changed{Version: out.Version})
	err = l.await(ctx, func(m *machine) bool {
		out.Copies = m.Holders(out.Version)
		return out.Copies >= copies
	})
	if err != nil {
		return out, fmt.Errorf("%w: %d of %d: %w", ErrUnconfirmed, out.Copies, copies, err)
	}
	return out, nil
}

// change stores the next catalog, unless the file is already as wanted.
func (l *loop) change(name string, f *File) (Version, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	now, old, there := l.Store.look(name)
	if f == nil && !there || f != nil && there && f.same(old) {
		return now.Version(), nil
	}
	if now.Tenure != l.tenure {
		return Version{}, &StaleError{Got: l.tenure, Promised: now.Tenure} // this node has taken another leader's
	}
	missing, held, err := l.Store.follow(now.write(name, f), l.ID, l.alone())
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%w: chunk %s", ErrDamaged, missing[0])
	}
	if err != nil {
		l.Store.forgetOffer(l.tenure)
	}
	return held, err
}

// await waits until so holds, or returns the cause of ctx or of the leadership's end.
func (l *loop) await(ctx context.Context, so func(*machine) bool) error {
	for {
		l.mu.Lock()
		yes, moved := so(l.machine), l.moved
		l.mu.Unlock()
		if yes {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.over.Done():
			return context.Cause(l.over)
		}
	}
}
