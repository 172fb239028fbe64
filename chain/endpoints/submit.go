package endpoints

import (
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
)

// grace is for how long the other endpoints are waited for once one has answered and not taken all.
const grace = 2 * time.Second

// answer is that of one endpoint to a Submit.
type answer struct {
	by       *member
	outcomes []chain.Outcome
}

// Submit implements chain.Chain. It sends to all endpoints at once, and returns when one has taken all
// attempts, or all have answered, or a while after the first answer. A send that is still under way goes
// on; an endpoint with one under way is left out. Nothing is sent once ctx is over.
func (s *Set) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	answers := make(chan answer, len(s.writers))
	own := slices.Clone(attempts) // a late send still reads it
	begun := 0
	for wait := false; begun == 0; wait = true {
		for _, m := range s.writers {
			if aside, _ := m.state(); aside && len(s.writers) > 1 {
				continue
			}
			if !m.writing.TryLock() {
				if !wait || begun > 0 {
					continue
				}
				m.writing.Lock() // all have a send under way, which the drivers bound
			}
			if ctx.Err() != nil { // nothing is sent for a caller that is over, not even once its turn has come
				m.writing.Unlock()
				return givenUp(len(attempts), ctx.Err())
			}
			begun++
			s.late.Go(func() {
				defer m.writing.Unlock()
				answers <- answer{m, m.Chain.Submit(context.WithoutCancel(ctx), own)}
			})
		}
	}
	return s.collect(ctx, len(attempts), begun, answers)
}

// givenUp returns outcomes for attempts whose sending was given up: an endpoint may have them, or none.
func givenUp(attempts int, err error) []chain.Outcome {
	return slices.Repeat([]chain.Outcome{{Text: err.Error()}}, attempts)
}

// collect merges answers.
func (s *Set) collect(ctx context.Context, attempts, begun int, answers <-chan answer) []chain.Outcome {
	sum := make([]chain.Outcome, attempts)
	var enough <-chan time.Time
	for heard := range begun {
		select {
		case a := <-answers:
			for i, o := range a.outcomes {
				o.By = a.by.Name
				sum[i] = merge(sum[i], o, heard == 0)
			}
			if allTaken(sum) {
				return sum
			}
			if enough == nil {
				timer := time.NewTimer(grace)
				defer timer.Stop()
				enough = timer.C
			}
		case <-enough:
			return unanswered(sum)
		case <-ctx.Done():
			return unanswered(sum)
		}
	}
	return sum
}

// unanswered returns outcomes of which those that refuse are unknown, since an endpoint that has not
// answered may have taken the attempt.
func unanswered(sum []chain.Outcome) []chain.Outcome {
	for i, o := range sum {
		if rank[o.Verdict] < rank[chain.Unknown] {
			sum[i] = chain.Outcome{Text: o.Text, By: o.By}
		}
	}
	return sum
}

// rank orders verdicts: of two answers the higher one counts (W8). What one endpoint has taken is taken.
// "Nonce too low" of one asks for a look. An answer that is missing leaves it open. Refusals count only
// if all refuse, and those that end something last.
var rank = map[chain.Verdict]int{
	chain.Accepted: 9, chain.Known: 8, chain.IndexTooLow: 7, chain.Unknown: 6, chain.Underpriced: 5, chain.FeeTooLow: 4,
	chain.NoFunds: 3, chain.Full: 2, chain.Refused: 1, chain.Unfit: 1, chain.Invalid: 0,
}

func merge(sum, next chain.Outcome, first bool) chain.Outcome {
	if first || rank[next.Verdict] > rank[sum.Verdict] {
		return next
	}
	return sum
}

func allTaken(outcomes []chain.Outcome) bool {
	for _, o := range outcomes {
		if o.Verdict != chain.Accepted && o.Verdict != chain.Known {
			return false
		}
	}
	return true
}
