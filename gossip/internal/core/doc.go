// Package core joins the machines of one node: the one that suggests a leader (package hint) and the one that connects (package
// overlay). [Core] is pure, and an agent is the loop around it. The simulated crowd feeds the same core.
//
// Read core.go first: what comes in, and what it does to whom. links.go has the connections that the overlay and the electors share,
// time.go when something is due, standing.go who has this node stand back and until when, names.go what subjects are called.
// perform.go does what the machines ask for; reasons.go says why something was left out.
//
// Sources: requirements B7, B16 to B19, B21, B23; the duties in packages hint and overlay.
package core
