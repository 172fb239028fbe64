// Package goals loads a log with goals while an experiment strikes its nodes, and judges what became of them.
//
// Clients ask all nodes in turn, members and followers, and ask the next one with the same id if they get no answer. Some hang up at
// once and ask elsewhere, and some ask a second node after they have been answered: all of that must execute a goal once. A reader
// reads each entry, every page at another node, so that an entry which does not follow the one before it on another disk is seen.
//
//	counter.go  what is asked for
//	record.go   what was seen
//	judge.go    the verdict, which is pure
//	load.go     the clients; reader.go: the reader, and what one node says
//
// Each goal adds one to a counter in the log. So the counter is the number of goals that were executed, whatever entries say.
package goals
