// Package sim runs elections in a deterministic world of faults and says what
// broke.
//
//	report := sim.Election(sim.Config{Nodes: 5, Seed: 42})
//
// What is on trial is the real thing: each process has an [election.Machine] and,
// for each scope, a [fence.Gate] with its latch. Only what surrounds them is
// played: the loop, the network, the clocks, and as the database the pure model
// of a mint ([electiontest.Store]), which passes the same suite as the one in
// Postgres. The queue, the clocks and the network are in package sim/world and
// know nothing of elections; the worlds of other wings stand on them beside this
// one.
//
// # The world
//
// A node is a machine with a clock; one process campaigns on it, or two of one
// name when the first was only taken for dead. Requests and replies are mostly
// quick, sometimes up to two leases late, or lost; a connection that lost a piece
// delivers nothing more. Processes are stopped, held up between a decision and
// its execution, killed and started again, while what they had begun goes on for as
// long as its keeper may let it; machines are suspended; links are cut
// in either direction; sessions are ended at the server, at worst right after a
// heartbeat took; the database restarts, or fails over to a standby that lags, and
// its clock is set back and forth; scopes are given up and transferred at any
// time, with acts under way and roles that end late, now and then for a reason that
// the mint cannot write down. Leases may differ by node and scope.
//
// Outsiders do their part. Callers ask a node over the network whether they may act,
// and act on the answer until it ends by their own clock, whatever became of the
// process that gave it. Services pass the fence, some of them above READ COMMITTED,
// with a snapshot older than their token. Strangers lock rows. A fence has a queue, and
// a bid that waits for it loses its place when its slice of time is over.
//
// After [Config.Steps] events the faults end. Once all is well again, some worlds
// have a drill: one trouble and no other, such as a farewell that cannot be written, a
// row that is locked, or a stream of clients past the fence of a leader that dies.
// A world without faults allows for a bound that one with them does not.
//
// # Clocks
//
// All is judged in true time, which nobody in the world can read. Each machine's
// clock is wrong by up to 2 % and counts suspended time; the timers of its
// processes do not. A caller's clock is slower than that of the node that answers by
// up to a tenth, which is what an answer allows for: 7 % of its own, and the node's 2 %. A decision of the database that depends on its wall clock
// would show: that one jumps.
//
// # Invariants
//
// Between two events nothing changes but the time, so a door is an interval of
// its machine's clock, mapped to true time. The intervals are compared, not
// samples of them.
//
//	act-doors        no two act doors of a scope are open at one instant, unless both are
//	                 of fast; an act under way counts as an open door, its process
//	                 stopped or not, or dead, and so does a caller that was told so
//	epochs           a scope's epochs only grow, in every history of the database
//	fenced-order     commits past the fence are in the order of their epochs, and none is
//	                 of an epoch below the one in the row
//	released-honest  when a release is written, its term's door is shut and its acts are over
//	liveness         within ten leases after the last fault each scope that somebody
//	                 campaigns for has one open act door; in a mixed world, at least
//	                 something goes on happening; in a drill, each that could be led is led within a lease or a
//	                 few, and no other is without a leader for a moment
//	gate-rule        both doors of the real gate say what its own rule says, shut ones too,
//	                 and an act is counted before the gate looks at its clock
//	fence-honest     no fence tells the token of the present term that it is over
//	evicts-the-old   what is ended for holding a fence is older than a lease
//	lock-kept        a session that leads has the lock that it took for that
//	conduct          a machine renews no term that it gave up or lost with its session,
//	                 promises nothing of one of which it was told a successor, and says no
//	                 farewell to one that it has replaced
//
// What is not claimed: that a process which is frozen inside an act writes
// nothing when it thaws. An act is over by its maximum, as the caller promised;
// the ones during which their process stood still are counted (acts_frozen), and
// are what the fenced door is for. Nor do doors have to keep apart where a failover lost
// a term together with the registration of its candidate (overlaps_forgotten): a longer
// lease than any that the database still knows of cannot be waited for.
//
// # Rules
//
// [Rules] lists the rules of the design, each of which can be broken by name: on
// the mint's side by the model, else by tampering with what passes between the
// machine, the gate and the world. The tests break each of them until an
// invariant falls, and run the same seed again with the rule in place.
//
// # Replay
//
// Everything follows from the configuration. A violation carries the command that
// shows it again; with [Config.Trace] it tells every step on the way. Where the
// code has changed since, the same seed is another run: keep the commit as well.
package sim
