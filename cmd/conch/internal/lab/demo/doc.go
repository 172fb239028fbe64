// Package demo shows conch's main job without any setup: a private Postgres, a private
// chain, separate conch processes at work, leaders killed over and over with SIGKILL, and a
// verdict over what they left behind.
//
//	customers ──────────────╮ HTTP: any node, one key per request
//	supervisor (this package)── private Postgres     private chain (conch-devnode)
//	     │ stdout: reports   ╲                       ╱
//	     │ stdin: held open   ╲ rows, leadership    ╱ signed bytes
//	  node node node  ─────────────────────────────
//	     ╲   │   ╱
//	   one outside file, one file of acknowledgements per node
//
// A demo node (conch demo-node) runs package worker and a conch node in one process, so that
// one kill ends both. They lead two scopes: Scope for the rows and acts, and PayerScope for
// the account in the node's conch.toml. Kills alternate between the leaders of the two. A cron of that file is due
// each second; the node that leads its scope runs it, those that lead posts of workers do its jobs, and they are
// killed like others.
//
// The supervisor takes no part in any election: the node that it runs beside the others never leads. That one serves the dashboard, over the
// same database and chain. The supervisor reads from the database which node to
// kill, and waits until the leader of Scope has reported its first row, or until the leader
// of PayerScope has stored a transaction in its term. Other reports only feed the live view.
// At the end customers and kills stop, acknowledged requests get half a minute to end, and
// package evidence gives the verdict, with the chain as package explorer reads it.
//
// The demo leaves nothing behind. It always ends the nodes, the chain, the server and the
// folder with the account's keystore, in this order. If the demo itself is killed, a
// parent-death signal ends nodes and chain on Linux; elsewhere the end of their stdin or a
// change of parent does. The server ends by itself, and the next start removes the folder.
package demo
