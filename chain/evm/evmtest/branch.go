package evmtest

// Branch is a dead branch of the chain.
type Branch struct{}
