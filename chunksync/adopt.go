package chunksync

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/conchhq/conch/fence"
)

// adopt stores the newest catalog found as this leader's first one, after all its chunks.
// It asks the gate before each exchange with a peer; the own catalog needs none.
func (l *loop) adopt(ctx context.Context, a adopt) input {
	held, err := l.adopted(ctx, a)
	switch {
	case err == nil:
		l.Events.adopted(a.Peer, a.Version)
		return adopted{Version: held}
	case errors.Is(err, fence.ErrStale):
		return deposed{}
	case a.Peer == "" || isOwn(err):
		l.end(err) // another node's disk may work
		return deposed{}
	}
	if ctx.Err() == nil && !errors.Is(err, fence.ErrShut) {
		l.Events.trouble(a.Peer, err)
	}
	return unadopted{Peer: a.Peer, Jitter: jitter()}
}

func (l *loop) adopted(ctx context.Context, a adopt) (Version, error) {
	found, _ := l.Store.latest()
	if a.Peer != "" {
		err := l.checkGate()
		if err != nil {
			return Version{}, err
		}
		if found, err = l.client.catalog(ctx, a.Peer); err != nil {
			return Version{}, err
		}
		if found.Version() != a.Version {
			// The peer has promised to take a catalog only from this leader or a later one.
			return Version{}, fmt.Errorf("the peer holds %s, but reported %s", found.Version(), a.Version)
		}
	}
	// In standalone mode the epoch is always 0, and the held catalog keeps its version.
	own := catalog{Tenure: l.tenure, Files: found.Files}
	if found.Tenure == l.tenure {
		own.Seq = found.Seq // it has led with this token before, and its next versions must be newer than those
	}
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
		err = fmt.Errorf("%w: chunk %s", ErrDamaged, missing[0]) // the peer can be asked for it again
	}
	return held, err
}

func (l *loop) get(ctx context.Context, peer string, h Hash) error {
	if err := l.checkGate(); err != nil {
		return err
	}
	chunk, err := l.client.chunk(ctx, peer, h)
	if err != nil {
		return err
	}
	if err := l.Store.add(chunk); err != nil {
		return &ownError{err}
	}
	return nil
}

// ownError marks an error of this node's disk, so that no peer is blamed for it.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

func isOwn(err error) bool {
	_, own := errors.AsType[*ownError](err)
	return own
}

// fetch gets the chunks that this node lacks from the peer, Parallel at a time. All chunks
// of the catalog are pinned until unpin is called.
func (l *loop) fetch(ctx context.Context, peer string, c catalog) (unpin func(), err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	missing, unpin := l.Store.want(c)
	if peer == "" {
		return unpin, nil // there is no peer to ask
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
