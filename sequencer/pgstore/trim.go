package pgstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/sequencer"
)

// Trim implements [sequencer.Store], in one round trip and one transaction, which is fenced and numbered like a write.
func (s *Store) Trim(ctx context.Context, ages map[string]time.Duration, most int) (n sequencer.Trimmed, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return n, context.Cause(ctx)
	}
	s.write++
	contracts := slices.Sorted(maps.Keys(ages))
	var spans []time.Duration
	for _, contract := range contracts {
		spans = append(spans, ages[contract])
	}
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	queueFence(&batch, s.token)
	batch.Queue(`SELECT conch.sequencer_turn($1, $2, $3, '{}')`, s.token.Scope, s.start, s.write)
	batch.Queue(`SELECT intents, attempts FROM conch.sequencer_trim($1, $2, $3, $4)`, s.token.Scope, contracts, spans, most).
		QueryRow(func(row pgx.Row) error { return row.Scan(&n.Intents, &n.Attempts) })
	if err := s.db.commit(ctx, &batch); err != nil {
		return sequencer.Trimmed{}, err
	}
	return n, nil
}
