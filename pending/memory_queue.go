package pending

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
)

func (s *Memory) queue(account chain.Account) (waiting []*Record) {
	for _, r := range s.intents {
		if r.Account == account && r.waits() {
			waiting = append(waiting, r)
		}
	}
	return waiting
}

func (r Record) waits() bool { return r.Index == nil && r.Fate == Open }

// due reports whether an intent is to be tried, in relaxed order.
func (r Refusal) due(now time.Time) bool { return !now.Before(r.Until) || r.ahead(now) }

// ahead reports whether the clock was ahead when the intent was put off.
func (r Refusal) ahead(now time.Time) bool { return r.Until.Sub(now) > LongestPause }

// tryable returns since when an intent that is due could be tried. What was put off by a clock that was ahead comes first:
// only the next refusal says when it is due.
func (r Record) tryable(now time.Time) time.Time {
	switch {
	case r.Refusal.Until.IsZero():
		return r.Created
	case r.Refusal.ahead(now):
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
		w := Record{Intent: r.Intent, Refusal: r.Refusal}
		if w.Refusal.Times > 0 {
			w.Refusal.Age = now.Sub(w.Refusal.Since)
		}
		if relaxed && q.Saving == nil && w.Refusal.Cause == Funds && w.Refusal.Age >= SavesAfter {
			q.Saving = &w
		}
		if !relaxed || w.Refusal.due(now) {
			q.Oldest = append(q.Oldest, w)
			place[w.ID] = i
		}
	}
	if q.Left = max(0, len(q.Oldest)-most); q.Left == 0 {
		return q, nil
	}
	if relaxed {
		slices.SortStableFunc(q.Oldest, func(a, b Record) int { return a.tryable(now).Compare(b.tryable(now)) })
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
	for _, r := range s.intents {
		if r.Account == account && r.Cancel && r.Index != nil && r.Fate == Open {
			w.Cancels = append(w.Cancels, *r.Index)
		}
	}
	w.Queued, _, w.PutOff = s.countQueue(account)
	return w, nil
}

// countQueue counts the intents that are to be tried now, all that wait, and those that are put off.
func (s *Memory) countQueue(account chain.Account) (due, all int, off PutOff) {
	now := s.now()
	for _, r := range s.queue(account) {
		if all++; r.Refusal.due(now) {
			due++
		}
		switch {
		case r.Refusal.Until.IsZero():
		case r.Refusal.Cause == Funds && now.Sub(r.Refusal.Since) >= PoorAfter:
			off.Poor++
		case r.Refusal.Cause == Unclear:
			off.Unclear++
		}
	}
	return due, all, off
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
	if !r.waits() {
		return
	}
	since := r.Refusal.Since
	if r.Refusal = h.Refusal; h.Refusal.Times == 1 || since.After(now) { // a clock that was ahead was wrong
		since = now
	}
	r.Refusal.Since = since
	if r.Refusal.Until = (time.Time{}); h.Pause > 0 {
		r.Refusal.Until = now.Add(h.Pause)
	}
}
