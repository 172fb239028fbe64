package transactions

import (
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/pending"
)

// Waiting says what a transaction that has not ended waits for.
type Waiting struct {
	Reason   string     `json:"reason"`
	Intent   string     `json:"intent,omitempty"`   // ID of the transaction that is in the way, if one is
	Since    *time.Time `json:"since,omitempty"`    // when the leader stored the reason, if that is known
	Refusals int        `json:"refusals,omitempty"` // how often in a row it got no nonce for this reason
	Until    *time.Time `json:"until,omitempty"`    // when it is tried again, if others pass it
}

// waitingFor returns what a transaction waits for, nil once it has ended (W17).
func waitingFor(r pending.Record) *Waiting {
	switch {
	case r.Fate != pending.Open:
		return nil
	case r.Index == nil:
		return waitingForNonce(r)
	case r.Late && r.Last.Block.Hash == "":
		return &Waiting{Reason: strings.TrimSuffix("its deadline is over: a transaction that does nothing takes its nonce, unless its own is faster; "+r.Last.Waits, "; ")}
	case r.Last.Waits != "":
		return &Waiting{Reason: r.Last.Waits}
	}
	return &Waiting{Reason: nextStep(r.Last)}
}

// waitingForNonce returns what a queued transaction waits for: why it got no nonce when it was tried, or else what
// holds up its account, if anything does.
func waitingForNonce(r pending.Record) *Waiting {
	stops := r.Hold.Intent == r.ID && r.Hold.Why != "" // in strict order, and newer
	if last := r.Refusal; last.Times > 0 && !stops && (r.Hold.Why == "" || !last.Until.IsZero()) {
		since, out := last.Since.UTC(), &Waiting{Reason: last.Why, Refusals: last.Times}
		if out.Since = &since; !last.Until.IsZero() {
			out.Until = new(last.Until.UTC())
		}
		return out
	}
	if r.Hold.Why == "" {
		return &Waiting{Reason: "a nonce"}
	}
	out := &Waiting{Reason: r.Hold.Why}
	if stops {
		out.Refusals = r.Refusal.Times
	}
	if r.Hold.Intent != (pending.ID{}) && r.Hold.Intent != r.ID {
		out.Intent = idText(r.Hold.Intent)
		out.Reason = fmt.Sprintf("behind transaction %s: %s", out.Intent, r.Hold.Why)
	}
	if !r.HoldSince.IsZero() {
		out.Since = new(r.HoldSince.UTC())
	}
	return out
}

// nextStep returns the next step of a transaction with a nonce, if nothing is in its way. That a second
// opinion about its end is missing is not stored, and counts as finality.
func nextStep(last pending.Change) string {
	if last.Status == pending.InBlock || last.Status == pending.FinalityTimeout {
		return "finality"
	}
	return "a block"
}

// witnesses returns the endpoints that called a transaction final, nil until two have, or one twice.
func witnesses(r pending.Record) []string {
	if r.Last.Witnesses[0] == "" || r.Last.Status != pending.Finalized && r.Last.Status != pending.Usurped {
		return nil
	}
	return r.Last.Witnesses[:]
}
