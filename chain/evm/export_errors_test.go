package evm

import (
	"context"
	"net/http"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

var (
	// ParsePhrases reads a file of phrases, for its faults.
	ParsePhrases = func(text string) error { _, err := parsePhrases(text); return err }
	// ErrorsText is errors.txt.
	ErrorsText = errorsText

	TooLarge   = tooLarge
	Limited    = limited
	RetryAfter = retryAfter
	Redact     = redact
)

// InvalidPhrases returns the phrases that make an attempt invalid.
func InvalidPhrases() (all []string) {
	for _, p := range said().attempts {
		if p.class == classInvalid {
			all = append(all, p.words)
		}
	}
	return all
}

// Noter returns a transport that fills in notes.
func Noter(next http.RoundTripper) http.RoundTripper { return noter{defaultAnswer, next} }

// Noting returns a context with a note, and what the note adds to an error.
func Noting(ctx context.Context) (context.Context, func(err error, secrets ...string) error) {
	ctx, n := noting(ctx)
	return ctx, func(err error, secrets ...string) error { return n.explain(err, secrets) }
}

// Kept is how much of a response's body a note keeps.
func Kept(ctx context.Context) int { return len(ctx.Value(noteKey{}).(*note).start) }

// RequestVerdicts returns the verdicts on the attempts of a request that failed, and on the rest.
func RequestVerdicts(err error, attempts int) (sent, rest chain.Verdict) {
	return requestVerdicts(err, attempts)
}

// NewStatus makes the error of an HTTP status, as the endpoint does.
func NewStatus(code int) error { return &statusError{code, http.StatusText(code)} }

// UnknownAdder returns an empty memory of unknown errors, and what it has.
func UnknownAdder() (add func(UnknownError), all func() []UnknownError) {
	u := &unknownErrors{chains: map[uint64][]UnknownError{}}
	return func(e UnknownError) { u.add(1, e) }, func() []UnknownError { return u.of(1) }
}

const (
	KeptUnknown = keptUnknown
	KeptBody    = keptBody
	Longest     = budget.Longest
)
