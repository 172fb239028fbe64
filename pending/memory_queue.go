package pending

import (
	"context"
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

// Queue implements Store.
func (s *Memory) Queue(_ context.Context, account chain.Account, relaxed bool, most int) (q Queue, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, r := range s.queue(account) {
		w := Waiting{Intent: r.Intent, Refusal: r.Refusal}
		if w.Refusal.Times > 0 {
			w.Age = now.Sub(w.Refusal.Since)
		}
		if relaxed && q.Saving == nil && w.Refusal.Cause == Funds && w.Age >= SavesAfter {
			q.Saving = &w
		}
		switch {
		case relaxed && now.Before(w.Refusal.Until):
		case len(q.Oldest) == most:
			q.Left++
		default:
			q.Oldest = append(q.Oldest, w)
		}
	}
	return q, nil
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
	w.Queued, w.PutOff = s.countQueue(account)
	return w, nil
}

// countQueue counts the intents that are to be tried now, and those that are put off.
func (s *Memory) countQueue(account chain.Account) (queued int, off PutOff) {
	now := s.now()
	for _, r := range s.queue(account) {
		if !now.Before(r.Refusal.Until) {
			queued++
		}
		switch {
		case r.Refusal.Until.IsZero():
		case r.Refusal.Cause == Funds && now.Sub(r.Refusal.Since) >= PoorAfter:
			off.Poor++
		case r.Refusal.Cause == Unclear:
			off.Unclear++
		}
	}
	return queued, off
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
