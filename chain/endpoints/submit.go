package endpoints

import (
	"context"
	"errors"
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
// on; an endpoint with one of the same account under way is left out. Nothing is sent once ctx is over.
func (s *Set) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	if len(attempts) == 0 {
		return nil
	}
	own := slices.Clone(attempts) // a late send still reads it
	answers := make(chan answer, len(s.writers))
	begun, busy := s.send(ctx, own, answers)
	for begun == 0 {
		if busy == nil {
			return givenUp(len(attempts), errors.New("every endpoint serves another chain"))
		}
		if ctx.Err() != nil {
			return givenUp(len(attempts), ctx.Err())
		}
		select { // all have a send under way, which the drivers bound
		case <-busy:
		case <-ctx.Done():
		}
		begun, busy = s.send(ctx, own, answers)
	}
	return s.collect(ctx, len(attempts), begun, answers)
}

// send begins to send to each endpoint that has no send of the account under way. It returns how many sends it
// began, and what is closed at the end of another one. Nothing is sent for a caller that is over, not even once its
// turn has come.
func (s *Set) send(ctx context.Context, attempts []chain.Signed, answers chan<- answer) (begun int, busy <-chan struct{}) {
	if ctx.Err() != nil {
		return 0, ctx.Done()
	}
	for _, m := range s.writers {
		if aside, _ := m.state(); aside && len(s.writers) > 1 {
			continue
		}
		end, under := m.begin(attempts[0].Account)
		if under != nil {
			busy = under
			continue
		}
		begun++
		s.late.Go(func() {
			defer end()
			answers <- answer{m, m.Chain.Submit(context.WithoutCancel(ctx), attempts)}
		})
	}
	return begun, busy
}

// begin begins a send of an account, or returns what is closed at the end of the one under way.
func (m *member) begin(a chain.Account) (end func(), under <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if under, is := m.writing[a]; is {
		return nil, under
	}
	over := make(chan struct{})
	m.writing[a] = over
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.writing, a)
		close(over)
	}, nil
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
// if all refuse, and those that end something last. Of these, that the bytes are outworn asks for others, which ends nothing.
var rank = map[chain.Verdict]int{
	chain.Accepted: 10, chain.Known: 9, chain.IndexTooLow: 8, chain.Unknown: 7, chain.Underpriced: 6, chain.FeeTooLow: 5,
	chain.NoFunds: 4, chain.Outworn: 3, chain.Full: 2, chain.Refused: 1, chain.Unfit: 1, chain.Invalid: 0,
}

func merge(sum, next chain.Outcome, first bool) chain.Outcome {
	if first || rank[next.Verdict] > rank[sum.Verdict] {
		return next
	}
	return sum
}

func allTaken(outcomes []chain.Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o chain.Outcome) bool { return o.Verdict != chain.Accepted && o.Verdict != chain.Known })
}
