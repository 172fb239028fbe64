package pending

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending/internal/rules"
)

func (s *Memory) queue(account chain.Account) (waiting []*Record) {
	for _, r := range s.intents {
		if r.Account == account && r.waitsForSlot() {
			waiting = append(waiting, r)
		}
	}
	return waiting
}

// left returns until when the call is of use, as of now.
func (r Record) left(now time.Time) Deadline {
	d := Deadline{LastBlock: r.LastBlock, Late: r.Late}
	if !r.ValidUntil.IsZero() && !d.Late {
		d.Left = max(0, r.ValidUntil.Sub(now))
		d.Late = d.Left == 0
	}
	return d
}

func (r Record) waitsForSlot() bool { return r.Index == nil && r.Fate == Open }

// isDue reports whether an intent is to be tried, in relaxed order.
func (r Refusal) isDue(now time.Time) bool { return !now.Before(r.Until) || r.wasAhead(now) }

// wasAhead reports whether the clock was ahead when the intent was put off.
func (r Refusal) wasAhead(now time.Time) bool { return r.Until.Sub(now) > rules.LongestPause }

// tryableFrom returns since when an intent that is due could be tried. What was put off by a clock that was ahead comes first:
// only the next refusal says when it is due.
func (r Record) tryableFrom(now time.Time) time.Time {
	switch {
	case r.Refusal.Until.IsZero():
		return r.Created
	case r.Refusal.wasAhead(now):
		return time.Time{}
	}
	return r.Refusal.Until
}

// Queue implements Store.
func (s *Memory) Queue(_ context.Context, account chain.Account, relaxed bool, most int) (q Queue, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	place := map[ID]int{} // in the order of acceptance
	for i, r := range s.queue(account) {
		left := r.left(now)
		w := Record{Intent: r.Intent, Refusal: r.Refusal, Late: left.Late, Left: left.Left}
		if w.Refusal.Times > 0 {
			w.Refusal.Age = now.Sub(w.Refusal.Since)
		}
		if relaxed && q.Saving == nil && w.Refusal.Cause == Funds && w.Refusal.Age >= rules.SavesAfter {
			q.Saving = &w
		}
		if !relaxed || w.Refusal.isDue(now) {
			q.Oldest = append(q.Oldest, w)
			place[w.ID] = i
		}
	}
	if q.Left = max(0, len(q.Oldest)-most); q.Left == 0 {
		return q, nil
	}
	if relaxed {
		slices.SortStableFunc(q.Oldest, func(a, b Record) int { return a.tryableFrom(now).Compare(b.tryableFrom(now)) })
	}
	q.Oldest = q.Oldest[:most]
	slices.SortFunc(q.Oldest, func(a, b Record) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return q, nil
}

// Alike implements Store.
func (s *Memory) Alike(_ context.Context, account chain.Account, calls []chain.Call) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.queue(account) {
		if slices.ContainsFunc(calls, func(call chain.Call) bool { return sameCall(r.Call, call) }) {
			return r.ID, nil
		}
	}
	return ID{}, nil
}

// Waiting implements Store.
func (s *Memory) Waiting(_ context.Context, account chain.Account) (w Waits, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, _ = s.countQueue(account)
	for _, r := range s.intents {
		if r.Account == account && r.Cancel && r.Index != nil && r.Fate == Open {
			w.Cancels = append(w.Cancels, *r.Index)
		}
	}
	return w, nil
}

// countQueue counts the intents that wait, and how many more are put off until later.
func (s *Memory) countQueue(account chain.Account) (w Waits, later int) {
	now := s.now()
	for _, r := range s.queue(account) {
		if r.Refusal.isDue(now) {
			w.Queued++
		} else {
			later++
		}
		switch {
		case r.Refusal.Until.IsZero():
		case r.Refusal.Cause == Funds && now.Sub(r.Refusal.Since) >= rules.PoorAfter:
			w.Poor++
		case r.Refusal.Cause == Unclear:
			w.Unclear++
		}
	}
	return w, later
}

func (s *Memory) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// hold stores why a waiting intent got no slot.
func (s *Memory) hold(h Held) {
	r, now := s.byID[h.Intent], s.now()
	if !r.waitsForSlot() {
		return
	}
	r.Version++
	since := r.Refusal.Since
	if r.Refusal = h.Refusal; h.Refusal.Times == 1 || since.After(now) { // a clock that was ahead was wrong
		since = now
	}
	r.Refusal.Since = since
	if r.Refusal.Until = (time.Time{}); h.Pause > 0 {
		r.Refusal.Until = now.Add(h.Pause)
	}
}
