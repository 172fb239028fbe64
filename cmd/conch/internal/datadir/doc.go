// Package datadir keeps the folder of a running node, by which other commands on the machine find
// the node:
//
//	conch.pid    its process number; locked for as long as it lives
//	reload.json  how its last reload went
//
// A reload needs neither the database nor a token, which may just have been replaced, but only the
// right to signal the process. The lock distinguishes a live node from the file of a killed one,
// whose number another process may have by now, and keeps two nodes from sharing a folder.
package datadir
