// Package demo is conch's main job with nothing installed by hand: a private
// Postgres, some separate conch processes that really work, the leader killed
// over and over with SIGKILL, and a verdict over what was left behind.
//
//	supervisor (this package) ── private Postgres
//	     │ stdout: reports    ╲
//	     │ stdin: held open    ╲ rows, leadership
//	  node node node  ───────────  (conch demo-node: package worker)
//	     ╲   │   ╱
//	   the shared file outside, the acknowledgements of each
//
// The supervisor takes no part in any election. Whom to kill it reads from the
// database's row, and asks for the node's own word that it leads. What the nodes
// report is for the live view only; the verdict comes from package evidence.
//
// Nothing survives it. It ends the nodes, the server and the folder in this
// order whether it succeeds or not. If it is killed itself, the nodes die by
// their parent-death signal on Linux and by the end of their stdin elsewhere, and
// the server by its own.
package demo
