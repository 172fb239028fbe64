// Package core decides what a node of the sequencer does: for all its contracts, and without a goroutine, a clock or anything
// outside. [Core.Step] takes an input and returns what is to be written and done. Package sequencer has the loop that feeds it
// and performs what it says; the simulated world of a committee feeds the same core.
//
// # What it joins
//
// Of each contract that is awake it has the machines of packages sender, coordinator and endorser, and the book. What they ask for
// becomes a [Write] or an [Act]. It decides itself which contracts sleep, which messages wait for one that is being read, what is
// asked of the ledger and of members where contents are lacked, with whom contents are shared before a user hears that an
// intent is done, and in which order entries are handed over.
//
// # In which order to read
//
// core.go has the step; input.go and output.go what goes in and comes out. place.go is a contract that may sleep, mail.go and
// follow.go what others and the ledger say. contract.go is a contract that is awake: what its machines ask for. It has four parts
// with files of their own: the askers who hand intents in (submit.go), the errands for the ledger (handover.go), the contents that are
// absent here (fetch.go, lacks.go, reconcile.go), and those that are offered to others (share.go).
//
// # Order
//
// First come the writes of an [Output], in their order and after all that came before; [Written] says that they are durable. Then
// come its acts, in their order. An act with an ID is a question, and [Answered] has its answer, whenever that comes.
package core
