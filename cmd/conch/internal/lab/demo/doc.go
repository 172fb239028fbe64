// Package demo is conch's main job with nothing installed by hand: a private
// Postgres, a private chain, some separate conch processes that really work, leaders
// killed over and over with SIGKILL, and a verdict over what was left behind.
//
//	customers ──────────────╮ HTTP: any node, one key a wish
//	supervisor (this package)── private Postgres     private chain (conch-devnode)
//	     │ stdout: reports   ╲                       ╱
//	     │ stdin: held open   ╲ rows, leadership    ╱ signed bytes
//	  node node node  ─────────────────────────────
//	     ╲   │   ╱
//	   the shared file outside, the acknowledgements of each
//
// A node (conch demo-node) is two things in one process, so that one kill ends both:
// package worker, and a conch node as conch node runs it, with one account in its
// conch.toml. Two scopes are led, by one node or by two, and kills take turns.
//
// The supervisor takes no part in any election. Whom to kill it reads from the
// database's rows; of who leads the work it asks for the node's own word, of who sends
// for a transaction stored in that very term. What the nodes report is for the live
// view only; the verdict comes from package evidence, which reads the chain by package
// explorer. Before that, customers want nothing more, nobody is killed, and everything
// acknowledged has half a minute to end.
//
// Nothing survives it. It ends the nodes, the chain, the server and the folder, with
// the account's keystore in it, in this order whether it succeeds or not. If it is
// killed itself, nodes and chain die by their parent-death signal on Linux and by the
// end of their stdin or the change of their parent elsewhere, and the server by its
// own; the folder goes with the next start.
package demo
