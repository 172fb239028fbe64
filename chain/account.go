package chain

import "context"

type accountKey struct{}

// WithAccount returns a context for questions on behalf of an account. Where questions have to wait, a driver takes
// those of the accounts in turn.
func WithAccount(ctx context.Context, a Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

type frontKey struct{}

// WithFront returns a context for a send that all later ones of its account wait for: it has been sent before, pays more
// or fills a nonce. Where sends have to wait, a driver takes it before others.
func WithFront(ctx context.Context) context.Context { return context.WithValue(ctx, frontKey{}, true) }

// IsFront reports whether the context is one of WithFront.
func IsFront(ctx context.Context) bool { return ctx.Value(frontKey{}) != nil }

// AccountOf returns the account on whose behalf a question is asked, empty if it is asked for several.
func AccountOf(ctx context.Context) Account {
	a, _ := ctx.Value(accountKey{}).(Account)
	return a
}
