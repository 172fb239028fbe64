package wire

import (
	"fmt"
	"io"
	"log/slog"
)

// kinds is above every kind.
const kinds = KindRejected + 1

var kindNames = [kinds]string{
	"no kind", "delegate", "accepted", "assemble", "assembled", "endorse", "endorsed", "ask grant", "granted", "dispatched",
	"noted", "returned", "ask list", "list", "ask handover", "handover", "ask attempts", "attempts", "rejected",
}

func (k Kind) String() string {
	if k >= kinds {
		return "no known kind"
	}
	return kindNames[k]
}

// String returns a short line: the kind, the number of the request, how much there is. It never has a payload, the data
// of a state, a signature, or a text that another node has written.
func (m Message) String() string {
	line := "no body"
	if m.Body != nil {
		line = m.Body.Kind().String()
	}
	if m.Request.Number > 0 {
		line += fmt.Sprintf(" %d", m.Request.Number)
	}
	if counts := counts(m.Body); counts != "" {
		line += ": " + counts
	}
	return line
}

// Format implements fmt.Formatter: every verb prints String, since %+v and %x would print secrets.
func (m Message) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.String()) }

// LogValue implements slog.LogValuer, for handlers that do not ask fmt.
func (m Message) LogValue() slog.Value { return slog.StringValue(m.String()) }

func counts(body Body) string {
	switch b := body.(type) {
	case Delegate:
		return fmt.Sprintf("%d intents for range %d, %d avoided", len(b.Intents), b.Range, len(b.Avoid))
	case Assemble:
		x := &b.Context
		return fmt.Sprintf("%d intents, context %d to %d with %d locked, %d created, %d gone, %d withheld",
			len(b.Items), x.Base, x.Version, len(x.Locked), len(x.Created), len(x.Gone), len(b.Withheld))
	case Assembled:
		return doneOf(b.Results, func(r Result) Why { return r.Why }, "attempts")
	case AskGrant:
		return fmt.Sprintf("%d intents", len(b.Items))
	case Granted:
		return doneOf(b.Items, func(g GrantResult) Why { return g.Why }, "grants")
	case Dispatched:
		return fmt.Sprintf("%d intents", len(b.Items))
	case Returned:
		return fmt.Sprintf("%d intents, %v", len(b.Items), b.Why)
	case List:
		return fmt.Sprintf("%d intents", len(b.Sequences))
	case Endorse:
		return fmt.Sprintf("%d attempts for range %d, %d upstream", len(b.Attempts), b.Range, len(b.Upstream))
	case Endorsed:
		return doneOf(b.Verdicts, func(v Verdict) Why { return v.Why }, "verdicts")
	case AskHandover:
		return fmt.Sprintf("range %d", b.Range)
	case Handover:
		return fmt.Sprintf("%d attempts", len(b.Entries))
	case AskAttempts:
		return fmt.Sprintf("%d attempts", len(b.Assembled))
	case Attempts:
		return fmt.Sprintf("%d attempts", len(b.Attempts))
	case Rejected:
		return b.Why.String()
	}
	return ""
}

// doneOf counts the items of an answer, and those among them that were carried out.
func doneOf[T any](all []T, why func(T) Why, noun string) string {
	done := 0
	for i := range all {
		if why(all[i]) == Done {
			done++
		}
	}
	return fmt.Sprintf("%d of %d %s done", done, len(all), noun)
}

// String returns whose it is and how much it has.
func (w Whole) String() string {
	a := &w.Attempt
	return fmt.Sprintf("an attempt of %v %d-%d with %d inputs, %d reads, %d outputs", a.Owner, a.Sequence.Lineage, a.Sequence.Counter, len(a.Inputs), len(a.Reads), len(a.Outputs))
}

// Format implements fmt.Formatter, as that of Message.
func (w Whole) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, w.String()) }

// LogValue implements slog.LogValuer.
func (w Whole) LogValue() slog.Value { return slog.StringValue(w.String()) }

// String returns the attempt, or why there is none.
func (r Result) String() string {
	if r.Why == Done {
		return r.Whole.String()
	}
	return fmt.Sprintf("no attempt of %d-%d: %v", r.Sequence.Lineage, r.Sequence.Counter, r.Why)
}

// Format implements fmt.Formatter, as that of Message.
func (r Result) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue implements slog.LogValuer.
func (r Result) LogValue() slog.Value { return slog.StringValue(r.String()) }
