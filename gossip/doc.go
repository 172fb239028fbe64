// Package gossip suggests one leader to thousands of nodes, and tells all of them the same news.
//
// What it names is a hint. Two nodes may name two leaders for a while: when the network is parted, when a leader has died
// and its heartbeat is still valid, when two take a reign at one time. A reign is not a token, no gate opens by it, and it
// fences nothing: only a log or Postgres makes a leader safe.
//
// A [Machine] is one node of an overlay, in all its namespaces. It is pure: inputs go in, actions come out.
//
//	           three rounds                  first of the order, and nobody leads
//	listening ─────────────▶ following ───────────────────────────────────▶ leading
//	    ▲                       │  ▲            a better claim is heard         │
//	    │        hears nobody   │  └────────────────────────────────────────────┤
//	    ├──────── parted ◀──────┘                                               │
//	    └──────── standing back ◀── hears nobody, is not heard, is withdrawn ───┘
//
// # Statements
//
// Whatever is told is a statement of its subject: under a topic, with an incarnation, a sequence and a signature. A node
// relays it when it first hears it, once, on every connection but those of its subject and of the peer that has brought
// it. Each second it compares what it knows with one peer, which repairs what was lost; a new peer is asked at once. Under a
// topic the newest word counts. News is told once, kept for a minute, and known for another one.
//
// # Policy reign
//
// Candidates are ordered by reign, then by seniority, then by a hash. One that comes first, and takes no reign for a
// validity, is no longer waited for: it may be sick. Each sends a heartbeat each round; without electors
// only the first four of the order are heard of and relayed, and a node that knows four before itself is silent. When no
// claim to lead is valid, the first of the order takes the reign after the highest that it has heard of, and says so at
// once. Nobody pre-empts: a more senior node that comes later waits for its turn. A node that has nobody to hear names
// itself in reign 0.
//
// With electors only they stand. They hear each other directly, each round; the leader's heartbeat goes to everybody each
// tenth round, and a change at once and with the next beat again. A node of the crowd keeps a leader for ten times as long as an
// elector, since it hears it ten times as rarely.
//
// # Rules
//
// Each falls by its name in the simulator (Config.Broken, `conch sim gossip --break`).
//
//   - own-signature: the subject alone signs what it says. A relay cannot refresh the dead.
//   - no-wall-clock: freshness is the sequence, and an age in rounds. No clocks of two hosts are compared.
//   - first-copy: the first copy of a heartbeat fixes its age. A further one changes nothing.
//   - age-travels: a node that passes a statement on says how old it is.
//   - claim-is-said: a heartbeat says whether its subject leads, and nobody else is believed to.
//   - listen-first: a newcomer, and a node that was cut off, listens for three rounds, and an elector after half a validity for two;
//     a node that hears nobody raises no reign.
//   - elector-majority: an elector raises a reign only if it has heard a majority of them within two beats.
//   - step-down: a leader that hears nobody (with electors: no majority of them), that another one does not hear, or whose
//     user withdraws it, says so and stands back, each time for twice as long. Withdrawals are counted for themselves: one that is
//     said again while it stands is the same one, and lasts for its time from then.
//   - electors-only: with electors the claim of anybody else is refused.
//   - among-electors: the first words of another elector that an elector believes, since it started, are brought by electors.
//     What the crowd brings of one that it has not met may be old; if that goes on to be a claim that comes before its own, a
//     leader takes a reign above it.
//   - old-is-old: what an elector has said last is remembered as long as the node runs, so that nobody can bring an older word of
//     it as if it were new.
//
// # Policy paper
//
// The rounds of document 003: a node takes the leaders of three random valid neighbours, chooses the one that two of them
// have, and tells its neighbours. It is there to be compared; docs/gossip.md has its measured faults.
//
// # Duties of the caller
//
//   - One goroutine feeds a machine, with a clock that counts suspended time and never goes back. Tick comes about four
//     times a round, after the messages that wait to be read; for a node that is nowhere a candidate it comes at Due.
//   - All nodes of an overlay have the same Round, Namespaces and Electors.
//   - The incarnation is above those of all starts before: a stored counter, or the time of the start, with random low
//     bits. If it is not, the machine raises it when it hears what its last life has said.
//   - Arcs comes with each change of the live connections, and says which keys the peers have proven. A connection to a
//     peer that is gone has to end within a validity, or the last of two nodes waits for it.
//   - Received.From is the name that the transport has proven. What wire.Decode refuses comes as Faulty.
//   - Withdraw is repeated as long as its cause lasts, each validity or so: the node may lead in between if that is rarer than it stands
//     back. Return ends it before its time.
//
// # What can fail
//
//   - The crowd is parted. Without electors each side names its own leader, and the higher reign is left when it is one
//     again, also if its leader works. With electors the side with a majority of them names one, and the other side nobody.
//   - A majority of the electors is gone: nobody leads until it is back.
//   - The electors' leader dies: nodes of the crowd that are cut off from all the others believe in it for 80 rounds.
//   - Somebody claims the last reign: without electors nobody can lead in that namespace any more ([ErrLastReign]).
//   - A forged, changed or re-signed statement, a sequence that goes back, an age below zero, a body that is too large, a
//     flood: it is refused and counted, and the peer is named ([Refused]). Two hosts with one key are both named ([Twin]).
//   - A node invents subjects, since anybody can make a key: of the news of all a node passes on 64 pieces in a round and
//     keeps the youngest 1,024, and without electors it remembers 256 candidates. So a relay of a flood brings less than its
//     peers take of one peer, and heartbeats come through; other news may be late, or lost.
//   - A connection stalls: what waits in it grows no older, so a heartbeat looks younger by that wait. The first copy
//     comes by the quickest way, so this shows where all connections of a node stall.
//   - A relay lies about ages. It can keep a dead leader's last word alive for as long as it lies, and cannot make another.
//
// Sources: document 003; requirements B1 to B7, B10, B16 to B19, B21; D13; a review of the design by simulation.
package gossip
