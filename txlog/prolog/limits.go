package prolog

import "github.com/conchhq/conch/txlog"

// Machine is the name of this state machine, and its version. What executes, applies or hashes otherwise has another one.
const Machine = "prolog/1"

// The limits, in bytes unless said otherwise. Beside them, a stored clause has 16 KiB and is 1,000 deep at most, and an atom has 1 MiB.
const (
	mostKeys      = 1 << 19         // number of clauses, predicates, operators and flags
	mostContent   = txlog.MostState // of all of them
	mostResult    = 4 << 10         // of a goal's result
	mostShown     = 700             // of a term in a fault
	mostSolutions = 1_000           // number of solutions in one answer
	mostOffset    = 1 << 20         // number of solutions that are passed
	mostAnswer    = 1 << 20         // of an answer to a query
	usualLimit    = 100             // number of solutions in an answer if the query does not say
)
