// Package election makes one of several processes the leader of a scope, hands
// its role a gate, and gives the leadership up in order.
//
//	mint, err := pgmint.New(pgmint.Config{URL: os.Getenv("CONCH_DB_URL")})
//	…
//	e, err := election.New(election.Config{
//		Mint: mint,
//		Roles: []election.Role{{
//			Scope: "payments",
//			Lead: func(ctx context.Context, l election.Leadership) error {
//				return pay(ctx, l.Gate) // ends when ctx does
//			},
//		}},
//	})
//	…
//	err = e.Run(ctx)
//
// # Rooms
//
// [Machine] decides; it is pure and can be read, tabled and simulated. The loop
// in [Elector.Run] feeds it and does what it says. A [Mint] issues the tokens:
// election/pgmint over Postgres, electiontest in memory.
//
// # A life
//
//	waiting --won--> leading --shut--> closing --acts ended, farewell said--> waiting
//
// While waiting, a seat bids when it is woken: by the end of the holder's process,
// by a notification, by a poll that repairs what was missed. A won bid opens the
// gate's fenced door at once and its act door once every predecessor's gate is
// known to be shut. Heartbeats move the gate's deadline; one that fails shuts the
// gate until the next succeeds; a lost session or a newer term ends the tenure.
//
// # The staircase down
//
// Shut the gate, cancel the role, wait for the acts under way and for the answers
// that callers outside of the role were given, mark the scope released, unlock,
// notify. Never another order: a release before the gate is shut lets two act. If
// acts do not end in time the scope is given up without the mark, and the successor
// waits as after a crash.
//
// # Roles that come and go
//
// [Elector.Add] and [Elector.Retire] change what a running elector campaigns for, and
// [Elector.Rest] lets other candidates go first. The mint knows each candidate's scopes and
// longest lease (its roll): nothing is bid for before it is on the roll, since after a
// failover that forgets a term the roll says how long that term's gate may be open. A term
// keeps the role and the lease that it was minted with.
//
// # The farewell
//
// What is said to the mint when a scope is given up waits for nobody and ends nobody.
// One that cannot be written concerns its scope alone: it is said again, by itself,
// then without its text; it is reported as [Unsaid]; and after a while this process
// bids again although it was not heard.
//
// # Duties of the caller
//
//   - Ask the gate before each effect; a role's context alone is not enough, since
//     a process that was stopped reads it late.
//   - Return from a role when its context ends. Until it has, this process does
//     not campaign for the scope again.
//   - Give each process its own ID and all candidates of a scope one Takeover.
//
// # What can fail, and what happens
//
//	the process dies            its session ends; a successor mints in about a millisecond
//	it is stopped or starved    its gate shuts by the clock; the mint frees its session after a lease
//	the database is unreachable the gate shuts at the deadline; nobody is promoted
//	a heartbeat fails           the gate shuts at once; it reopens with the next success
//	none is in time             after two leases the scope is given up, for others to try (not under Keep)
//	the database fails over     every session ends; terms of the old history are refused
//	acts take long to end       their term is renewed meanwhile; see Leadership.Notice
//	acts never end              the scope is given up unreleased; the successor waits
//	a drain is overtaken        its caller gets ErrDeposed, not the word that it is done
//	the farewell is not heard   its caller gets ErrUntold; it is said again until it is
//	the role fails              [Failing]; others may bid first for one lease
//	nobody leads                after three leases [Unled] says so, and what stands in the way
//
// Requirements S1–S7, S9–S12, S14, S16, F1, F3–F6 (docs/requirements.md).
package election
