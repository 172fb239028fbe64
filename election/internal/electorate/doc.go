// Package electorate is a simulated world of electors: it runs elections among faults, deterministically, and reports what broke.
//
//	report := electorate.Run(electorate.Config{Nodes: 5, Seed: 42})
//
// Under test is the production code: each process has a [core.Core], which is all that its
// loop decides, and, for each scope, a [fence.Gate] with its latch. Everything around them is
// simulated: the goroutines, the network, the clocks and the database, which is the pure model of
// a mint ([store.Store]) that passes the same suite as the mint in Postgres. The event
// queue, the clocks and the network are in package internal/world, which knows nothing of elections.
//
// # The world
//
// A node is a machine with a clock. One process campaigns on it, or two with one name after
// the first was wrongly taken for dead. Requests and replies are mostly quick, sometimes up
// to two leases late, or lost; a connection that has lost a message delivers nothing more.
// Processes are stopped, delayed between a decision and its execution, killed and started
// again; the command of a killed process may act until its keeper kills it. Machines are
// suspended. Links are cut in either direction. Sessions are ended at the server, at worst
// right after a successful heartbeat. The database restarts, or fails over to a standby that
// lags, and its clock is set back and forth. Scopes are given up and transferred at any time,
// with acts under way and roles that end late, sometimes for a reason that the mint cannot
// store. Leases may differ by node and scope.
//
// Other clients take part. Callers ask a node over the network whether they may act, and act
// on the answer until it expires by their own clock, whatever becomes of the process that
// gave it. Services pass the fence, some above READ COMMITTED with a snapshot older than
// their token. Some clients lock rows. A fence has a queue: a bid that waits in it loses its
// place when its time to block is over.
//
// After [Config.Steps] events the faults end. Once the election has settled, some runs have a
// drill: a single trouble, such as a farewell that cannot be stored, a locked row, or a
// stream of clients that pass the fence of a leader that dies. Without other faults a new
// leader must come within a tighter bound.
//
// # Clocks
//
// Everything is judged in true time, which nothing in the world can read. Each machine's
// clock is wrong by up to 2 % and counts suspended time; the timers of its processes do not.
// A caller's clock is slower than that of the answering node by up to a tenth, for which an
// answer allows: 7 % of its own, and the node's 2 %. The database's wall clock jumps, to show
// any decision that depends on it.
//
// # Invariants
//
// Between two events nothing changes but the time, so a door is open for an interval of its
// machine's clock, which is mapped to true time. Whole intervals are compared, not samples.
//
//	act-doors        no two act doors of a scope are open at one instant, unless both are
//	                 under fast; an act under way counts as an open door, even if its
//	                 process is stopped or dead, and so does a caller's valid answer
//	epochs           a scope's epochs only grow, in every history of the database
//	fenced-order     commits past the fence are in the order of their epochs, and none has
//	                 an epoch below the one in the row
//	released-honest  when a release is written, its term's door is shut and its acts are over
//	liveness         within ten leases after the last fault, each scope with a candidate has
//	                 one open act door (a mixed world must only not come to a halt); in a
//	                 drill, each affected scope is led again within a few leases, and the
//	                 others have a leader at every moment
//	gate-rule        both doors of the real gate are open exactly when its rule says so, and
//	                 an act is counted before the gate reads its clock
//	fence-honest     no fence refuses the current token as stale
//	evicts-the-old   a transaction that is ended for its fence is older than a lease
//	lock-kept        a session that leads has the lock that it took for the scope
//	conduct          a machine renews no term that it gave up or lost with its session,
//	                 promises nothing for a term whose successor it was told of, says no
//	                 farewell to a term that it has replaced, and bids only for scopes
//	                 that it has registered
//
// A process that is frozen inside an act may still write when it thaws. To the simulator an
// act is over by its maximum, as the caller promised; acts during which the process stood
// still are counted (acts_frozen), and the fenced door exists for them. Doors may overlap
// after a failover that lost a term and the registration of its candidate
// (overlaps_forgotten): the successor cannot wait for a lease that the database has lost.
//
// # Rules
//
// [Simulator] has the rules of the design. Each can be broken by name: on the mint's side by
// the model, otherwise by changing what passes between core, gate and world. The tests
// break each rule until an invariant falls, and run the same seed again with the rule kept.
//
// # Replay
//
// A run depends on its configuration only. A violation carries the command that repeats it,
// and [Config.Trace] shows every step. If the code changes, the same seed is another run, so
// keep the commit as well.
package electorate
