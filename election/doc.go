// Package election makes one of several processes the leader of a scope, hands the
// leader's role a gate, and gives the leadership up in order.
//
//	mint, err := pgmint.New(pgmint.Config{URL: os.Getenv("CONCH_DB_URL")})
//	…
//	e, err := election.New(election.Config{
//		Mint: mint,
//		Roles: []election.Role{{
//			Scope: "payments",
//			Lead: func(ctx context.Context, l election.Leadership) error {
//				return pay(ctx, l.Gate) // returns when ctx ends
//			},
//		}},
//	})
//	…
//	err = e.Run(ctx)
//
// # The types that matter
//
// A [Role] is work that only one process may do at a time; its scope is its name. An
// [Elector], made from a [Config], campaigns for the scopes of its roles and runs each role
// while this process leads. The role gets a [Leadership] with a [fence.Gate], which answers
// whether it may act now. A [mint.Mint] issues the tokens that make a process the leader:
// election/pgmint over Postgres, election/electiontest in memory. [Events] reports what
// happens as [Fact] values, [Elector.Status] says how a scope stands now.
//
// # The life of a scope
//
//	waiting --bid won--> leading --gate shut--> closing --acts ended--> waiting
//
// A waiting process bids when the end of the holder's process or a notification wakes it, and
// at regular polls in case it missed a wake. A bid that wins opens the gate's fenced door at
// once, and the act door when every predecessor's gate is known to be shut. Heartbeats move the
// gate's deadline. A heartbeat that fails shuts the gate until the next one succeeds; a lost
// session or a newer term ends the leadership.
//
// To give a scope up, the elector shuts the gate, cancels the role, waits until its acts have
// ended and its answers to callers outside the role have expired, marks the scope released,
// unlocks it and notifies. The order is fixed: a release before the gate is shut would let
// two processes act. If acts do not end in time, the scope is given up without the mark, and
// the successor waits as after a crash.
//
// The farewell, the statement that gives a scope up, waits for no lock and ends no transaction.
// If it fails, only its scope is affected: the elector retries it, at last without its texts,
// reports [Unsaid], and after a while bids for the scope again.
//
// # Roles that come and go
//
// [Elector.Add] and [Elector.Retire] change the roles of a running elector; [Elector.Rest] lets
// other candidates go first. The mint stores each candidate's scopes and longest lease before
// the first bid: after a failover that forgets a term, that lease says how long the term's gate
// may still be open. A term keeps the role and the lease with which it began.
//
// # Duties of the caller
//
//   - Ask the gate before each effect. The role's context alone is not enough, since a
//     process that was stopped notices its end late.
//   - Return from a role when its context ends. Until then this process does not campaign
//     for the scope again.
//   - Give each process its own ID and all candidates of a scope the same Takeover.
//
// # What can fail, and what happens
//
//	the process dies             its session ends; a successor mints in about a millisecond
//	it is stopped or starved     the clock shuts its gate; the mint ends its session after a lease
//	the database is unreachable  the gate shuts at its deadline; nobody becomes the leader
//	a heartbeat fails            the gate shuts at once; it opens again with the next success
//	heartbeats stay late         after two leases the scope is given up (not under Keep)
//	the database fails over      every session ends; terms of the old history are refused
//	acts take long to end        their term is renewed meanwhile; see Leadership.Notice
//	acts never end               the scope is given up unreleased; the successor waits
//	a newer term during a drain  the caller of the drain gets ErrDeposed
//	the farewell fails           the caller of the drain gets ErrUntold; the elector retries it
//	the role fails               Failing is reported; other candidates go first for one lease
//	nobody leads                 after three leases Unled is reported, with the cause
//
// # Inside
//
// Package core of election/internal makes all decisions of an elector: it is pure, and read first by an auditor. loop.go feeds it and does what
// it asks for, runner.go runs the role of one scope. Package electorate beside it has a simulated world around the same core: conch-lab sim
// election.
//
// Sources: requirements S1–S7, S9–S12, S14, S16, F1, F3–F6.
package election
