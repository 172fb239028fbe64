package chunksync

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/conchhq/conch/fence"
)

// adopt makes what was found the first catalog of this leader. The content comes first,
// then its name on the own disk; until then nothing has changed. The gate is asked before
// each exchange, and not for what is here: of that nothing leaves.
func (l *loop) adopt(ctx context.Context, a adopt) input {
	held, err := l.adopted(ctx, a)
	switch {
	case err == nil:
		l.Events.adopted(a.Peer, a.Version)
		return adopted{Version: held}
	case errors.Is(err, fence.ErrStale):
		return deposed{}
	case a.Peer == "" || isOwn(err):
		l.end(err) // another node may have a better disk
		return deposed{}
	}
	if ctx.Err() == nil && !errors.Is(err, fence.ErrShut) {
		l.Events.trouble(a.Peer, err)
	}
	return unadopted{Peer: a.Peer, Luck: luck()}
}

func (l *loop) adopted(ctx context.Context, a adopt) (Version, error) {
	found, _ := l.Store.latest()
	if a.Peer != "" {
		err := l.pass()
		if err != nil {
			return Version{}, err
		}
		if found, err = l.client.catalog(ctx, a.Peer); err != nil {
			return Version{}, err
		}
		if found.Version() != a.Version {
			// It has promised to take nothing but from this leader or a later one.
			return Version{}, fmt.Errorf("it holds %s, and said %s", found.Version(), a.Version)
		}
	}
	// Alone the epoch is always 0, and what is held stays as it is, under its own number.
	own := catalog{Tenure: l.tenure, Files: found.Files}
	unpin, err := l.fetch(ctx, a.Peer, own)
	if err != nil {
		return Version{}, err
	}
	defer unpin()
	missing, held, err := l.Store.take(own, l.ID, l.alone())
	if err != nil {
		return held, &ownError{err}
	}
	if len(missing) > 0 {
		err = fmt.Errorf("%w: chunk %s", ErrDamaged, missing[0]) // a peer can be asked for it again
	}
	return held, err
}

func (l *loop) get(ctx context.Context, peer string, h Hash) error {
	if err := l.pass(); err != nil {
		return err
	}
	chunk, err := l.client.chunk(ctx, peer, h)
	if err != nil {
		return err
	}
	if err := l.Store.add(h, chunk); err != nil {
		return &ownError{err}
	}
	return nil
}

// ownError is of this node's disk, where it could be taken for the peer's.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

func isOwn(err error) bool {
	_, own := errors.AsType[*ownError](err)
	return own
}

// fetch gets what a peer has and this node has not, a few at a time. All of it is
// pinned until unpin is called.
func (l *loop) fetch(ctx context.Context, peer string, c catalog) (unpin func(), err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	missing, unpin := l.Store.want(c)
	if peer == "" {
		return unpin, nil // what is not here is nowhere
	}
	var getting sync.WaitGroup
	slots := make(chan struct{}, l.Parallel)
	for _, h := range missing {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		getting.Go(func() {
			defer func() { <-slots }()
			if err := l.get(ctx, peer, h); err != nil {
				stop(err)
			}
		})
	}
	getting.Wait()
	if ctx.Err() != nil {
		unpin()
		return nil, context.Cause(ctx)
	}
	return unpin, nil
}
