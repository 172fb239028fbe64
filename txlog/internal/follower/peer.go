package follower

import (
	"slices"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// peer is what is known of another node.
type peer struct {
	left   int           // that it may still send
	since  time.Duration // left was counted
	lies   int           // what was wrong of what it has sent
	barred time.Duration // until then it is not asked
	broke  bool          // it no longer had a snapshot that was fetched from it, and none was taken over since
	probed time.Duration // it was asked last about a head that nobody known has signed
}

// takes spends one of a peer's allowance. It is false if none is left.
func (p *peer) takes(now time.Duration, each int) bool {
	if rounds := int((now - p.since) / round); rounds > 0 {
		p.left = min(p.left+min(rounds, 8)*each, 8*each)
		p.since += time.Duration(rounds) * round
	}
	if p.left < 1 {
		return false
	}
	p.left--
	return true
}

// bar has a peer that has lied not be asked for a while, each time for longer.
func (p *peer) bar(now time.Duration) {
	p.barred = now + pause.Doubled(barredFor, p.lies, 64*barredFor)
	p.lies++
}

// pace learns how long a question and its answer travel, so that another peer is asked soon, and not each time.
type pace struct {
	samples [15]time.Duration
	count   int
}

// add takes how long an answer took, and how long of it the question waited at the other end for what was not there yet.
func (p *pace) add(took, waited time.Duration) {
	p.samples[p.count%len(p.samples)] = max(took-max(waited, 0), 0)
	p.count++
}

// patience is twice what three answers in four take at least, and the usual one at least. Answers that stall say nothing of how long
// others take: even when there are few samples they do not change it.
func (p *pace) patience() time.Duration {
	if p.count < 5 {
		return usualPatience
	}
	s := p.samples
	known := s[:min(p.count, len(s))]
	slices.Sort(known)
	return min(max(2*known[len(known)/4], usualPatience), firstPatience)
}
