package chunksync

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/conchhq/conch/fence"
)

// AsConfigured has a write wait for Config.Copies.
const AsConfigured = -1

// Receipt is what became of a write.
type Receipt struct {
	Version Version // the catalog that has it
	File    File    // zero after Remove
	Copies  int     // peers that hold it
}

// Put makes the content the file of that name, and returns once that many peers hold
// it; [AsConfigured] means Config.Copies, and with less a successor may not find it. It
// takes effect at once and whole, or not at all. The same content again changes nothing
// and waits just the same.
//
// Errors: *[NameError], [ErrCopies], [ErrTooLarge], [ErrFull], [ErrTakingOver], whatever the reader
// says: nothing was changed. *[fence.ShutError]: this node does not lead, nothing was
// changed. [ErrUnconfirmed], with the cause of ctx or a *[StaleError]: it is in this
// node's catalog, and it is not known whether a successor will have it; put it again.
func (m *Manager) Put(ctx context.Context, name string, content io.Reader, copies int) (Receipt, error) {
	if err := checkName(name); err != nil {
		return Receipt{}, err
	}
	l, err := m.leader()
	if err != nil {
		return Receipt{}, err
	}
	if copies, err = l.enough(copies); err != nil {
		return Receipt{}, err
	}
	f, unpin, err := l.Store.store(content, l.MaxFile)
	defer unpin()
	if err != nil {
		return Receipt{}, err
	}
	return l.write(ctx, name, &f, copies)
}

// Remove removes a file, as Put puts one. One that is not there is removed.
func (m *Manager) Remove(ctx context.Context, name string, copies int) (Receipt, error) {
	if err := checkName(name); err != nil {
		return Receipt{}, err
	}
	l, err := m.leader()
	if err != nil {
		return Receipt{}, err
	}
	if copies, err = l.enough(copies); err != nil {
		return Receipt{}, err
	}
	return l.write(ctx, name, nil, copies)
}

// enough is on how many peers a write has to be that asks for so many.
func (l *loop) enough(copies int) (int, error) {
	if copies == AsConfigured {
		copies = l.Config.copies()
	}
	if copies < 0 || copies > len(l.Peers) {
		return 0, fmt.Errorf("%w: %d is not between 0 and %d", ErrCopies, copies, len(l.Peers))
	}
	return copies, nil
}

// leader is the leadership of this node, if its gate is open.
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
		if t.Epoch != l.token.Epoch { // this node's next term: the content came in the one before
			return &StaleError{Got: l.tenure, Promised: tenureOf(t), Holder: t.Holder}
		}
		out.Version, err = l.change(name, f)
		return err
	})
	if err != nil {
		switch {
		case errors.Is(err, fence.ErrStale):
			l.tell(l.over, deposed{})
		case errors.Is(err, ErrDamaged) || l.Store.doubt() != nil:
			l.end(err) // another can go on
		}
		return Receipt{}, err
	}
	l.tell(l.over, changed{Version: out.Version})
	err = l.await(ctx, func(m *machine) bool {
		out.Copies = m.Holders(out.Version)
		return out.Copies >= copies
	})
	if err != nil {
		return out, fmt.Errorf("%w: %d of %d: %w", ErrUnconfirmed, out.Copies, copies, err)
	}
	return out, nil
}

// change makes the next catalog and stores it, unless the file is that already.
func (l *loop) change(name string, f *File) (Version, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	now, _ := l.Store.latest()
	old, there := now.Files[name]
	if f == nil && !there || f != nil && there && f.same(old) {
		return now.Version(), nil
	}
	if now.Tenure != l.tenure {
		return Version{}, &StaleError{Got: l.tenure, Promised: now.Tenure} // another's has been taken here
	}
	missing, held, err := l.Store.take(now.with(name, f), l.ID, l.alone())
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%w: chunk %s", ErrDamaged, missing[0])
	}
	if err != nil {
		l.Store.withdraw(l.tenure)
	}
	return held, err
}

// await waits until the machine is so, and returns why it was not: the cause of ctx, or
// of the end of the leadership.
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
