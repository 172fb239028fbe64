// Package contracts is the service of [[contracts]]: the node of an organisation that shares private contracts with others,
// which [identity] and [[peers]] name. The process that leads its scope runs it; the others wait to take over.
//
//	config.go    the tables: keys and faults; declared.go: what the contract on the chain has to say
//	service.go   the service
//	term.go      the node while this process leads: store, ledgers, transport
//	api.go       /v1/contracts; view.go says what answers look like
//	metrics.go   conch_sequencer_*
//
// # What can fail, and what happens
//
// While a chain does not answer, the node waits for it. A contract on the chain that is not the declared one, an account
// that is not the member's, and a key in an external signer end the term with an error. A peer that is away costs the
// others nothing; its transactions wait.
//
// Requirements P28, P33, P38 to P43.
package contracts
