package chain

import "context"

type accountKey struct{}

// WithAccount returns a context for questions on behalf of an account. Where questions have to wait, a driver takes
// those of the accounts in turn.
func WithAccount(ctx context.Context, a Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// AccountOf returns the account on whose behalf a question is asked, empty if it is asked for several.
func AccountOf(ctx context.Context) Account {
	a, _ := ctx.Value(accountKey{}).(Account)
	return a
}
