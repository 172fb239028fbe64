package core

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// draws are the random pauses that the seats of one batch share; 0: not drawn yet.
type draws struct {
	quick   [endTries]time.Duration
	backoff time.Duration
	refused time.Duration
	failed  [maxDoublings + 1]time.Duration // by the number of failures
}

func drawn(kept *time.Duration, draw func() time.Duration) time.Duration {
	if *kept == 0 {
		*kept = draw()
	}
	return *kept
}

// bidAnswered takes the answer to a seat's bid, and schedules the next one. process is the holder's
// process key; 0 if there is none to wait for.
func (p *pace) bidAnswered(t *turn, now fence.Instant, answer mint.Outcome, process int64) {
	p.failures, p.fulls, t.failures, t.room = 0, 0, 0, 0
	busySince := t.busySince
	t.process, t.busySince = 0, 0
	switch answer {
	case mint.Won:
		*t = turn{restUntil: t.restUntil}
	case mint.Held, mint.Locked:
		p.bidLost(t, now, process)
	case mint.Yield:
		p.retrySoon(t, now)
	case mint.Busy: // the next bid waits in the mint, which is the pause
		t.busySince, t.tryAt = cmp.Or(busySince, now), now
	case mint.Refused:
		t.tryAt = now.Add(drawn(&p.draws.refused, func() time.Duration { return p.jitter(p.set.RetryMax) }))
	case mint.Full, mint.Said, mint.Over, mint.Renewed: // mintFull takes Full; the others do not answer bids
	}
}

// bidLost schedules the next bid of a seat that lost one.
func (p *pace) bidLost(t *turn, now fence.Instant, process int64) {
	if t.wokenFrom != 0 && process != 0 && process != t.wokenFrom {
		t.quickLeft = min(t.quickLeft, 1) // a rival won; one more bid, in case that rival has ended as well
	}
	t.process, t.yieldUntil = process, 0
	switch {
	case t.quickLeft > 0:
		step := endTries - t.quickLeft
		t.quickLeft--
		t.tryAt = now.Add(drawn(&p.draws.quick[step], func() time.Duration { return p.jitter(time.Millisecond << min(step, 5)) }))
	case process == 0:
		p.retrySoon(t, now)
	default:
		t.tryAt = never // the end of the holder's process wakes the seat earlier
		if p.pollAt <= now {
			p.pollAt = now.Add(p.jitter(p.set.CheckInterval))
		}
	}
}

// retrySoon schedules a bid soon, when there is no process to wait for (S5).
func (p *pace) retrySoon(t *turn, now fence.Instant) {
	t.tryAt = now.Add(drawn(&p.draws.backoff, func() time.Duration { return p.between(p.set.BackoffMin, p.set.BackoffMax) }))
}

// mintFull takes the answer of a mint that has no room. It returns when the next bid may be sent.
func (p *pace) mintFull(now fence.Instant) fence.Instant {
	p.fulls++
	p.fullUntil = now.Add(p.backoff(p.fulls))
	return p.fullUntil
}

// splits is how many consecutive failed batches are halved. Nine halvings find one bad row in a batch
// of 500. After more failures in a row the cause is not a row, and one bid per scope would turn one
// error into a thousand.
const splits = 10

// batchFailed takes the failure of a batch. The scope that caused it fails alone in the end, and no
// longer holds up the others. Seats with equally many failures share a pause.
func (p *pace) batchFailed(now fence.Instant, batch []*turn) {
	p.failures++
	n := len(batch)
	split := n > 1 && p.failures <= splits
	for _, t := range batch {
		if split || n == 1 {
			t.room = max(1, n/2)
		}
		if !split { // otherwise another scope may be the cause
			t.failures++
		}
		t.tryAt = now.Add(drawn(&p.draws.failed[min(t.failures, maxDoublings)], func() time.Duration { return p.backoff(max(1, t.failures)) }))
		if n > 1 { // the database may be in trouble: no poll before that; not for one bad scope
			p.pollAt = max(p.pollAt, t.tryAt)
		}
	}
}
