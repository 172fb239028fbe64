// Package story is the language in which a story of a simulated cluster is written: a text that anybody can write, and that
// says what happens to the nodes and what has to come of it.
//
//	# Three nodes; the leader is frozen for 5 s; nobody acts twice.
//	nodes 3
//	lease 2s
//	expect leader within 5s
//	freeze leader for 5s
//	expect another leader within 8s
//	run 20s
//	expect no two act
//
// One line comes after the other. The first ones say what world it is. A line that follows has something happen at once,
// or [at] an instant since the begin; [run] lets time pass; [expect] wants something to be so, now or [within] a time. What
// has an end ends by itself with [for]. The invariants of the world are judged at every moment, and at the end what holds
// once all is over: nobody has to ask for that.
//
// A node is called as the world calls it, or n1, n2, n3 in their order; leader is the one that leads when the line is played,
// others are all the others. "call leader old" gives a node a name for the lines that follow.
//
// A story is played with what it did written below each line, indented. Lines that are indented are no part of a story, so
// that what was printed can be played again, and compared.
//
// Every world has the words that are in this package, and adds its own: a [World] lists them. The words are checked before
// anything happens.
package story
