package evmtest

import (
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/providertest"
)

type (
	// Node is a running conch-devnode: HTTP is its URL, ChainID its chain. Call makes a call, Fund gives an account money;
	// Height, Count and Mined say what is in its chain.
	Node = providertest.Node
	// Mined is a transaction in a block, as the node has it.
	Mined = providertest.Mined

	// Provider is a JSON-RPC server before a node, at HTTP and WS. Fault and Hold are switches. Sent, Calls, Requests, Refused
	// and Strikes say what has come and what it has changed. AimAt, AimBranch and AimOther say what its lies are about.
	Provider = providertest.Provider
	// Profile is the behaviour of one real kind of provider.
	Profile = providertest.Profile

	// Key is the key of an account, and an evm.Signer. Stranger and Consume sign what conch did not ask for, SignHash what a
	// contract verifies.
	Key = providertest.Key
	// Transaction is a signed transaction.
	Transaction = providertest.Transaction
)

// Program builds conch-devnode from its folder. CONCH_DEVNODE names one that is built already.
func Program(t testing.TB, folder string) string {
	t.Helper()
	return providertest.Program(t, folder)
}

// StartNode runs the program with flags until the test ends.
func StartNode(t testing.TB, program string, flags ...string) *Node {
	t.Helper()
	return providertest.StartNode(t, program, flags...)
}

// NodeAt is a node that the test runs itself.
func NodeAt(t testing.TB, url string) *Node {
	t.Helper()
	return providertest.NodeAt(t, url)
}

// Profiles returns all profiles. With full, their numbers are those of the real providers; else they are smaller, so that the
// same happens within seconds.
func Profiles(full bool) []Profile { return providertest.Profiles(full) }

// Start starts a provider of a profile before a node. It ends with the test.
func Start(t testing.TB, node *Node, profile Profile) *Provider {
	t.Helper()
	return providertest.Start(t, node, profile)
}

// NewKey makes a key.
func NewKey(t testing.TB) *Key {
	t.Helper()
	return providertest.NewKey(t)
}

// KeyOf returns the key of 32 bytes. Few of them are none: the error says so.
func KeyOf(secret []byte) (*Key, error) { return providertest.KeyOf(secret) }

// Verify reports whether the key of an account has signed a hash, as a contract does: the account is recovered from the
// signature. A signature has one form: one with a high s is refused.
func Verify(account chain.Account, hash [32]byte, signature []byte) bool {
	return providertest.Verify(account, hash, signature)
}
