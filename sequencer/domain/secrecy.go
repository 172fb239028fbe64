package domain

import (
	"fmt"
	"io"
	"log/slog"
)

// Nothing prints what members keep from the ledger: every verb writes String, since %+v and %x would print secrets, and
// so do loggers that do not ask fmt.

// String returns how much is hidden.
func (s Secret) String() string { return fmt.Sprintf("a secret of %d bytes", len(s.Data)) }

// Format implements fmt.Formatter.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String returns the state's name and how much is hidden.
func (s State) String() string { return fmt.Sprintf("the state %v with %d bytes", s.ID, len(s.Data)) }

// Format implements fmt.Formatter.
func (s State) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue implements slog.LogValuer.
func (s State) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String returns whose it is and how long its payload is.
func (c Call) String() string {
	return fmt.Sprintf("a call of %v %d-%d with %d bytes", c.Owner, c.Sequence.Lineage, c.Sequence.Counter, len(c.Payload))
}

// Format implements fmt.Formatter.
func (c Call) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue implements slog.LogValuer.
func (c Call) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String returns whose it is and how many states it has.
func (p Proposal) String() string {
	return fmt.Sprintf("a proposal of %v %d-%d with %d inputs, %d reads, %d outputs",
		p.Owner, p.Sequence.Lineage, p.Sequence.Counter, len(p.Inputs), len(p.Reads), len(p.Outputs))
}

// Format implements fmt.Formatter.
func (p Proposal) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// LogValue implements slog.LogValuer.
func (p Proposal) LogValue() slog.Value { return slog.StringValue(p.String()) }
