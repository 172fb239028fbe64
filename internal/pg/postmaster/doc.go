// Package postmaster runs a private PostgreSQL server for as long as this
// program lives: `conch demo` uses it so that nothing has to be installed by
// hand, and every test that needs a database uses it through pgtest.
//
// What makes it private:
//
//   - a folder of its own, removed by Stop, in memory (/dev/shm) where there is
//     room, since a cluster on disk costs ten times as much to make;
//   - a Unix socket inside that folder and no TCP port at all, so that two
//     servers never race for a port and nobody else can reach it. Config.TCP
//     adds 127.0.0.1 on a free port, for tests that put a proxy in between;
//   - another user when this program is root, because PostgreSQL refuses to run
//     as root;
//   - a process group of its own, so that Ctrl-C reaches the program, which then
//     stops the server last, instead of reaching both at once;
//   - on Linux a parent-death signal: the server ends even if this program is
//     killed with SIGKILL. The folder such a program leaves behind is removed by
//     the next Start (see owner.go).
//
// It never looks at port 5432 nor at any cluster it did not make.
//
//	stopped ──Start──▶ running ──RestartFast──▶ running
//	                    │  ▲
//	               Kill9│  │StartAgain
//	                    ▼  │
//	                   dead            running | dead ──Stop──▶ removed
//
// Duties of the caller: call Stop; do not call two methods at the same time.
//
// What can fail: no server programs on this machine (ErrNoBinaries, one sentence
// with the install line), a folder the server's user cannot enter, a folder
// that is not empty (Stop removes it, so it must be ours), a server that does
// not come up (StartError, with the end of its log).
//
// A hot standby is a second Server made from a base backup of the first (Standby);
// its line to the primary can lead through a proxy. Promote makes a primary of it.
package postmaster
