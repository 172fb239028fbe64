//go:build unix

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/payer"
)

// limited measures transactions whose acceptance takes from the limits of a policy, and whose final states give back what they did not need, beside
// the same without, in turn, after a short run of each that compiles and plans. It is over in a minute and a half: four runs of half as many transactions
// as in other parts say as much as eight whole ones, since what a run's last block lacks is not counted.
func (a *account) limited(ctx context.Context, r *Report) error {
	many := a.cfg.amounts().intents / 2
	a.cfg.Say("pending: four times %d transactions, accepted before and meanwhile, within the limits of a policy and without one …", many)
	if err := a.payer.Limit(ctx); err != nil {
		return err
	}
	accepts := [2]func(context.Context, int) error{a.payer.Accept, a.payer.AcceptWithin}
	for _, accept := range accepts {
		if _, err := a.send(ctx, many/10, accept); err != nil {
			return err
		}
	}
	var accepted, mined, whole [2]time.Duration
	for i, within := range []int{0, 1, 1, 0} { // ABBA
		began := time.Now()
		if err := accepts[within](ctx, many); err != nil {
			return err
		}
		accepted[within] += time.Since(began)
		one, err := a.send(ctx, many, nil)
		if err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		mined[within] += one.took
		if one, err = a.send(ctx, many, accepts[within]); err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		whole[within] += one.took
	}
	for _, m := range []struct {
		name string
		took [2]time.Duration
	}{{"accept_within_policy", accepted}, {"send_to_mined_within_policy", mined}, {"submit_to_mined_within_policy", whole}} {
		r.beside(m.name, float64(2*many)/m.took[1].Seconds(), float64(2*many)/m.took[0].Seconds(), "tx/s")
	}
	return nil
}

// tally is how many transactions were mined at a time.
type tally struct {
	at time.Duration
	n  uint64
}

// mined waits until many transactions are mined after the first ones, and returns how long that took, without what their last block lacks.
func (a *account) mined(ctx context.Context, began time.Time, first uint64, many int) (time.Duration, error) {
	var all []tally
	err := every(ctx, payer.Pace, "all are mined", func() (bool, error) {
		n, err := a.payer.Count(ctx, "latest")
		if err != nil {
			return false, err
		}
		if n -= first; n > 0 && (len(all) == 0 || n > all[len(all)-1].n) {
			all = append(all, tally{time.Since(began), n})
		}
		return n >= uint64(many), nil
	})
	if err != nil {
		return 0, err
	}
	return withoutEdge(all), nil
}

// withoutEdge returns how long it took until the last tally. The last block is counted by what it has, at the pace of those before: else a run of a dozen
// blocks ends with a block, and says the same of one that is full and of one that has a single transaction.
func withoutEdge(all []tally) time.Duration {
	last := all[len(all)-1]
	if len(all) < 3 {
		return last.at
	}
	first, before := all[0], all[len(all)-2]
	each := float64(before.at-first.at) / float64(before.n-first.n)
	return min(last.at, before.at+time.Duration(each*float64(last.n-before.n)))
}
