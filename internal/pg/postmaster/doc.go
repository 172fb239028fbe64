// Package postmaster runs a private PostgreSQL server for as long as this program
// lives: `conch demo` uses it so that users need not set up a server, and every test
// that needs a database uses it through pgtest.
//
// The server is private because it has
//
//   - its own folder, removed by Stop, in memory (/dev/shm) if there is room, since a
//     cluster on disk takes ten times as long to make;
//   - a Unix socket inside that folder and no TCP port, so that two servers never
//     compete for a port and other users cannot reach it. Config.TCP adds 127.0.0.1
//     on a free port, for tests that put a proxy in between;
//   - another user if this program runs as root, because PostgreSQL refuses to run
//     as root;
//   - its own process group, so that Ctrl-C reaches only this program, which then
//     stops the server last;
//   - on Linux a parent-death signal: the server ends even if this program is
//     killed with SIGKILL. The next Start removes the folder that such a program
//     leaves behind (see owner.go).
//
// It never touches port 5432 or a cluster that it did not make.
//
//	stopped ──Start──▶ running ──RestartFast──▶ running
//	                    │  ▲
//	               Kill9│  │StartAgain
//	                    ▼  │
//	                   dead            running | dead ──Stop──▶ removed
//
// Duties of the caller: call Stop; do not call two methods at the same time.
//
// What can fail: the machine has no server programs (ErrNoBinaries says how to install
// them), the server's user cannot enter the folder, the folder is not empty (Stop removes
// it, so it must be new or empty), the server does not start (StartError, with a line of
// its log).
//
// A hot standby is a second Server made from a base backup of the first (Standby); its
// connection to the primary can lead through a proxy. Promote turns it into a primary.
package postmaster
