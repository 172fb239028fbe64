package sender

import (
	"fmt"
	"io"
	"log/slog"
)

// Nothing prints a payload, as with domain.Secret.

// String returns the intent's number and key, and how long its payload is.
func (r IntentRow) String() string {
	return fmt.Sprintf("the intent %d-%d %q with %d bytes", r.Sequence.Lineage, r.Sequence.Counter, r.Key, len(r.Payload))
}

// Format implements fmt.Formatter.
func (r IntentRow) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue implements slog.LogValuer.
func (r IntentRow) LogValue() slog.Value { return slog.StringValue(r.String()) }
