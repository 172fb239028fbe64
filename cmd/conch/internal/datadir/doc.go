// Package datadir is the folder of one running node, by which other commands on
// the same machine find it:
//
//	conch.pid    its process number; locked for as long as it lives
//	reload.json  how its last reload went
//
// A reload needs neither the database nor a token that may just have been
// replaced: who may signal the process may ask for it. The lock tells a node that
// lives from the file of one that was killed, whose number may be another
// program's by now, and keeps two nodes from sharing a folder.
package datadir
