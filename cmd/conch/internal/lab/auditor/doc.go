// Package auditor judges, from the ledger, what became of the intents that several organisations have handed in for one
// contract: whether any landed twice or was lost, whether a node told its users what is not so, and whether the money in
// the notes is what was issued.
//
// It trusts no node and shares no code with the sequencer. A [Record] holds:
//
//   - the ledger: every entry that the contract was given, with what the contract said of it, block by block (package
//     explorer), how the contract was created, and which states it calls unspent;
//   - the requests: what customers have asked for under their keys, and the IDs that they got;
//   - the transactions as each node lists them at the end, and the first end that it told of each;
//   - the openings: what each node's database says that its notes are (package pgnotes).
//
// The ledger decides. [Judge] plays the entries again by itself; requests, transactions and notes are compared with what
// comes out. It is a pure function over a Record, so that a test can spoil any fact and see it caught.
//
// What it takes from the contract's code is that nothing lands without a grant of its owner and enough endorsements. So
// the creation of the contract has to be that of the audited source, byte by byte ([CreationSize]).
package auditor
