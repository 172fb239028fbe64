// Package transactions is the service of [[chains]] and [[accounts]]: any node accepts
// what is to be sent, and the node that leads an account gives it a nonce, signs, stores
// and sends it.
//
//	config.go        the tables [[chains]] and [[accounts]]: keys and faults
//	service.go       the service
//	keyring.go       keystores, external signers, and the lines to chains
//	accounts.go      the registry of accounts: where their transactions are kept, and their managers
//	sender.go        the work of an account's role; its alarms
//	transactions.go  what callers ask of the registry; api.go asks it over HTTP
//	counts.go        what is under way and what is wrong, for metrics.go
//	doctor.go        judges what survey.go finds out for conch doctor
//	command.go       conch tx; show.go prints
//
// # What can fail, and what happens
//
// A chain that cannot be asked keeps nothing from being accepted; it is told loudly, and
// sending goes on once it answers. A key that does not open keeps the node from starting.
// A database that is away refuses callers; "no answer" is never "not accepted".
//
// Requirements S15–S26.
package transactions
