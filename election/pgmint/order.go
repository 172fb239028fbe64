package pgmint

import (
	"context"
	"time"
)

// orphaned is the age at which an order that is open has lost whoever asked, who would
// have withdrawn it long before.
const orphaned = 2 * untaken

// order is one open row of conch.command.
type order struct {
	ID        int64
	Scope     string
	Epoch     int64
	Verb      string
	ToID      string
	Actor     string
	TimeoutMS int64
	State     string
	AgeMS     int64
}

// ageMS is the age of an order by the database's clock. Should that have been set back,
// an order of the future counts as no younger than one of the past.
const ageMS = `(abs(extract(epoch FROM clock_timestamp() - at)) OPERATOR(pg_catalog.*) 1000)::bigint`

const openOrders = `SELECT id, scope, epoch, verb, to_id, actor, timeout_ms, state, ` + ageMS + `
  FROM conch.command WHERE state IN ('asked', 'warm') AND scope = ANY ($1) ORDER BY id`

// takeOrder looks at the age as well: this process may have slept since it read the order.
const takeOrder = `UPDATE conch.command SET state = 'taken'
 WHERE id = $1 AND state IN ('asked', 'warm') AND ` + ageMS + ` <= $2`

func (c order) age() time.Duration { return time.Duration(c.AgeMS) * time.Millisecond }

func (c order) waitsForSuccessor() bool {
	return c.Verb == "transfer" && c.State == "asked" && c.age() < warmPatience
}

// expire closes an order that nobody will carry out.
func (o *obeyer) expire(ctx context.Context, c order, why string) {
	_, _ = o.exec(ctx, `UPDATE conch.command SET state = 'expired', result = $2, done_at = clock_timestamp()
		WHERE id = $1 AND state IN ('asked', 'warm')`, c.ID, why) // the next pass tries again
}
