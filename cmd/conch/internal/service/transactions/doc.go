// Package transactions is the service of [[chains]], [[accounts]] and [[webhooks]]. Any node accepts a
// transaction. The node that leads its account gives it a nonce, signs, stores and sends it.
//
//	config.go        the tables [[chains]] and [[accounts]]: keys and faults; config_chain.go: of finality
//	service.go       the service
//	keyring.go       keystores, external signers, connections to chains
//	accounts.go      the configured accounts and their stores
//	managers.go      the managers of those that this node leads
//	sender.go        the work of an account's role; its alarms
//	transactions.go  what callers ask for; api.go asks it over HTTP
//	waiting.go       what a transaction waits for
//	counts.go        backlog and alarms, for metrics.go
//	doctor.go        judges what facts.go finds out for conch doctor
//	webhooks.go      the work of the role that tells receivers; webhooks_….go: their table, routes, metrics and commands
//	command.go       conch tx; show.go prints
//
// # What can fail, and what happens
//
// While a chain does not answer, transactions are accepted and not sent, and errors are
// logged. A node does not start if it cannot open a key, or does not know which blocks are
// final. Without the database callers are refused; a request without an answer may have been
// accepted.
//
// Requirements S15–S26.
package transactions
