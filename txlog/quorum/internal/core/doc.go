// Package core joins the machines of one node's part in one log: of a member (packages majority and member), of a follower, and of its users' goals
// (package courier). It says whom each tells what, and what has to be stored before. It is pure: the loop of package quorum feeds it in real
// time, and package logworld in a simulated world.
//
// Read core.go first: what a node has, and Step. Then member.go and authority.go for a member, copy.go and seek.go for a follower, goals.go,
// reads.go and change.go for what users ask for. input.go has what comes in, output.go what goes out; kept.go and evidence.go say what a store has.
package core
