// Package core decides for an elector: when to bid, when a gate opens and shuts, in which order a term ends. [Core] is pure, and the
// elector of package election is the loop around it; the simulated electorate feeds the same core.
//
// Read input.go and output.go first: what comes in, and what is asked for. Then core.go, which joins [Machine] to gates, roles and callers,
// with core_term.go (the end of a term), core_answers.go (callers who wait) and core_waits.go (the ends of other processes).
//
// The machine in the order of a term: machine.go, machine_seat.go (what it knows of a scope), machine_pump.go (which request is next),
// machine_roll.go (for which scopes it is registered), machine_pace.go and machine_bid.go (when it bids), machine_tried.go (what came of it),
// machine_due.go (what time alone does), machine_beaten.go (heartbeats), machine_down.go and machine_farewell.go (giving up). Then what
// goes wrong: machine_failures.go, machine_unled.go.
//
// Sources: requirements S4–S7, S9–S12, F1, F3–F6.
package core
