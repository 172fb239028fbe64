package chain

import "context"

// Purpose says for what a driver is asked. Where questions or sends have to wait, a driver takes those of the accounts in
// turn, and the front of an account before all others.
type Purpose struct {
	Account Account // on whose behalf; empty: of several
	Front   bool    // all later sends of the account wait for this one: it was sent before, pays more or fills a nonce
}

type purposeKey struct{}

// In returns a context for questions with this purpose.
func (p Purpose) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, purposeKey{}, p)
}

// PurposeOf returns the purpose of a context, the zero Purpose if it has none.
func PurposeOf(ctx context.Context) Purpose {
	p, _ := ctx.Value(purposeKey{}).(Purpose)
	return p
}
