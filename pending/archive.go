package pending

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	archiveEvery = time.Minute
	archiveBatch = 500 // the store accepts no intents while it moves a batch
)

// archive moves old finished intents to the archive, a batch at a time, until ctx ends.
func (l *loop) archive(ctx context.Context) {
	store, can := l.Store.(Archiver)
	if !can || l.ArchiveAfter == 0 {
		return
	}
	for ctx.Err() == nil {
		moved := 0
		err := l.act(ctx, func(ctx context.Context) (err error) {
			ctx, cancel := context.WithTimeout(ctx, l.Longest)
			defer cancel()
			moved, err = store.Archive(ctx, l.token, l.Account, l.ArchiveAfter, archiveBatch)
			return err
		})
		rest := archiveEvery
		switch {
		case errors.Is(err, fence.ErrStale):
			l.end(err)
		case err != nil:
			l.trouble(err)
		case moved >= archiveBatch:
			rest = lull // there is more; let callers in between batches
		}
		_ = pause.For(ctx, rest)
	}
}
