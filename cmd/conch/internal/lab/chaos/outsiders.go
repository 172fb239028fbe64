package chaos

import (
	"cmp"
	"slices"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// asked looks for callers that acted at once on the answers of two leaders. Such an act has no
// effect after its end, so it does not matter when it was recorded.
func (e Evidence) asked(say sayer) {
	for _, g := range e.Gated {
		acts := slices.SortedFunc(slices.Values(g.Acts), func(a, b evidence.Act) int { return cmp.Compare(a.End, b.End) })
		for _, f := range evidence.Find(evidence.Record{Outside: acts}).Overlapping {
			say(OneAsker, f.At, "asked about %q: %s", g.Scope, f.What)
		}
	}
}

// SQLSTATE codes.
const (
	staleToken = "CN001"
	endedByAdm = "57P01"
)

// streamed judges the fences above READ COMMITTED: rows of a token that was over, and valid tokens
// that were refused. A successor may end a transaction that has lasted for a lease.
func (e Evidence) streamed(say sayer) {
	var rows []evidence.Row
	for _, r := range e.Streamed {
		if rows = append(rows, r.Row); r.Stale {
			say(StaleStops, 0, "%s of a stream was committed though its token was over", r.Row)
		}
	}
	for _, f := range evidence.Find(evidence.Record{Ledger: rows}).Overlapping {
		say(StaleStops, f.At, "in a stream: %s", f.What)
	}
	for _, r := range e.Refused {
		switch {
		case r.Code == staleToken && r.Current:
			say(ValidPasses, r.At, "the token of epoch %d was the current one, and is refused as stale: %s", r.Epoch, r.Text)
		case r.Code == endedByAdm && r.Took < e.Lease:
			say(ValidPasses, r.At, "a fenced transaction of epoch %d was ended after %s, and the lease is %s", r.Epoch, short(r.Took), e.Lease)
		case r.Code != staleToken && r.Code != endedByAdm && r.Took < e.Lease:
			say(ValidPasses, r.At, "a fence of epoch %d failed after %s: %s", r.Epoch, short(r.Took), r.Text)
		}
	}
}
