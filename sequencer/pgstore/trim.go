package pgstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/sequencer"
)

// Trim implements [sequencer.Store], in one round trip and one transaction, which is fenced and numbered like a write.
func (s *Store) Trim(ctx context.Context, ages map[string]time.Duration, most int) (n sequencer.Trimmed, err error) {
	contracts := slices.Sorted(maps.Keys(ages))
	var spans []time.Duration
	for _, contract := range contracts {
		spans = append(spans, ages[contract])
	}
	err = s.commit(ctx, "", []string{}, func(batch *pgx.Batch) error { // the function looks whose each contract is
		batch.Queue(`SELECT intents, attempts FROM conch.sequencer_trim($1, $2, $3, $4)`, s.token.Scope, contracts, spans, most).
			QueryRow(func(row pgx.Row) error { return row.Scan(&n.Intents, &n.Attempts) })
		return nil
	})
	if err != nil {
		return sequencer.Trimmed{}, err
	}
	return n, nil
}
