package chain

import (
	"fmt"
	"slices"
	"strings"
)

// Effect is what a transaction has done in its block. The zero Effect is not known, which never counts as success: what tells it is
// no longer kept by any node that was asked.
type Effect struct {
	Kind EffectKind
	// Why names what has failed, in the chain's own words, such as "Token.BelowMinimum"; empty if it does not say. Two nodes say
	// the same.
	Why string
}

// EffectKind is the kind of an [Effect].
type EffectKind uint8

const (
	// EffectUnknown means that nobody asked can say.
	EffectUnknown EffectKind = iota
	// EffectOK means that the call has done all that it says.
	EffectOK
	// EffectFailed means that the transaction used its nonce and paid its fee, without effect.
	EffectFailed
	// EffectPartly means that a part of the call has failed, and another was done: the inner call of a batch, say.
	EffectPartly
)

var effects = [...]string{"unknown", "ok", "failed", "partly"}

func (k EffectKind) String() string { return effects[k] }

// EffectOf returns the effect of a call on a chain where all of it fails or nothing.
func EffectOf(failed bool) Effect {
	if failed {
		return Effect{Kind: EffectFailed}
	}
	return Effect{Kind: EffectOK}
}

// Failed reports whether the transaction is known to have had no effect.
func (e Effect) Failed() bool { return e.Kind == EffectFailed }

// String returns its word, and what has failed, such as "failed: Token.BelowMinimum".
func (e Effect) String() string {
	if e.Why == "" {
		return e.Kind.String()
	}
	return e.Kind.String() + ": " + e.Why
}

// ParseEffect reads what String returns.
func ParseEffect(text string) (e Effect, err error) {
	word, why, _ := strings.Cut(text, ": ")
	i := slices.Index(effects[:], word)
	if i < 0 {
		return e, fmt.Errorf("%.100q is no effect of a transaction", text)
	}
	return Effect{EffectKind(i), why}, nil
}
