// Package keyservice has the words in which a service that keeps keys, such as AWS KMS, says why it did not sign.
//
// A service signs 32 bytes and knows nothing of a transaction; the key never leaves it. What speaks to one is a package below
// this one: [github.com/conchhq/conch/chain/keyservice/vault], and, as modules of their own since they need their makers' libraries,
// chain/keyservice/awskms and chain/keyservice/gcpkms. A program links those alone that it imports. The driver of a chain makes a
// signer of it, checks each answer, and says when it asks again (chain/evm, Remote).
//
// # Failures
//
// Every failure is a [FaultError], and wraps chain.ErrKey: the transaction waits with its place, nothing is lost, and an alarm names
// the service. No failure ends a transaction or moves it to another nonce. Faults that [Fault.Passes] go by themselves; the others
// want a person.
//
// # Secrets
//
// A Fault quotes nothing of what a service says but its code, in at most 64 letters, digits, dots and underscores: a proxy may
// send back a token that it was sent.
//
// Sources: requirements S15, S20, S25.
package keyservice
