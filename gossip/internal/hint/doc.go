// Package hint is the machine that names one leader for thousands of nodes, and passes the same news on to all. Package gossip
// says what such a hint is worth.
//
// A [Machine] is one node of an overlay, in all its namespaces. It is pure: inputs go in, actions come out.
//
//	           three beats                   first of the order, and nobody leads
//	listening ─────────────▶ following ───────────────────────────────────▶ leading
//	    ▲                       │  ▲            a better claim is heard         │
//	    │        hears nobody   │  └────────────────────────────────────────────┤
//	    ├──────── parted ◀──────┘                                               │
//	    └──────── standing back ◀── hears nobody, is not heard, is withdrawn ───┘
//
// Not drawn: one that hears nobody when it has listened is parted. One that listens, follows or is parted stands back as well when it
// is withdrawn; one that listens, follows or leads does when another host has its key. One whose process stood still listens again,
// unless it stands back. With electors every node that is none of them is a bystander, and remains one.
//
// Read machine.go first, then machine_parcels.go: what a peer sends, and what two nodes exchange. machine_hear.go judges heartbeats,
// machine_reign.go decides who leads, machine_news.go keeps news. seat.go has the state of one namespace, and the order of its
// candidates; machine_allowance.go what a peer may cost; machine_status.go what can be asked; machine_paper.go is policy paper alone.
//
// # Statements
//
// Whatever is told is a statement of its subject: under a topic, with an incarnation, a sequence and a signature. A node
// relays it when it first hears it, once, on every connection but those of its subject and of the peer that has brought
// it. Each second it compares what it knows with one peer, which repairs what was lost; a new peer is asked at once. Under a
// topic the newest word counts. News is repeated to peers for 600 rounds (a minute at 100 ms); for as long again a copy is known
// as one and dropped.
//
// # Policy reign
//
// Candidates are ordered by reign, then by seniority, then by a hash. If the first candidate does not take a reign within a
// validity, the next one may: the first may be sick. Each sends a heartbeat at each beat, which is each round with electors, and
// each tenth without (Namespace.Every). Without electors only the first four of the order are heard of and relayed, and a node that
// knows four before itself is silent. When no claim to lead is valid, the first of the order takes the reign after the highest that it
// has heard of, and says so at once. Nobody pre-empts: a more senior node that comes later waits for its turn. A node that has nobody
// to hear names itself in reign 0.
//
// With electors only they stand. They hear each other directly, at each beat; the leader's heartbeat goes to everybody each
// tenth round, and a change at once and with the next beat again. A node of the crowd keeps a leader for ten times as long as an
// elector, since it hears it ten times as rarely (less with a longer beat: at least each ten rounds).
//
// # Rules
//
// Each falls by its name in the simulator (`conch-lab sim gossip --break`).
//
//   - own-signature: the subject alone signs what it says. A relay cannot refresh the dead.
//   - no-wall-clock: freshness is the sequence, and an age in rounds. No clocks of two hosts are compared.
//   - first-copy: the first copy of a heartbeat fixes its age. A further one changes nothing.
//   - age-travels: a node that passes a statement on says how old it is.
//   - claim-is-said: a heartbeat says whether its subject leads, and nobody else is believed to.
//   - listen-first: a newcomer, and a node that was cut off, listens for three beats. An elector that heard no majority for half a
//     validity waits two more beats before it raises a reign. A node that hears nobody raises none.
//   - elector-majority: an elector raises a reign only if it has heard a majority of them within two beats.
//   - step-down: a leader that hears nobody (with electors: no majority of them), that another one does not hear, or whose
//     user withdraws it, says so and stands back, each time for twice as long. Withdrawals are counted for themselves: one that is
//     said again while it stands is the same one, and lasts for its time from then.
//   - electors-only: with electors the claim of anybody else is refused.
//   - among-electors: until an elector has heard of another one from an elector, it ignores what the crowd says of that one, which may
//     be old. If the crowd goes on to bring a claim of it, in a reign that is not below the leader's, the leader takes a higher one.
//   - old-is-old: what an elector has said last is remembered as long as the node runs, so that nobody can bring an older word of
//     it as if it were new.
//
// # Policy paper
//
// The rounds of document 003: a node takes the leaders of three random valid neighbours, chooses the one that two of them
// have, and tells its neighbours. It is there to be compared; docs/benchmarks.md has its measured faults.
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
//   - Message.From is the name that the transport has proven.
//   - Withdraw is repeated as long as its cause lasts, each validity or so: the node may lead in between if that is rarer than it stands
//     back. Return ends it before its time.
//
// # What can fail
//
//   - The nodes are parted. Without electors each side names its own leader, and the higher reign is left when it is one
//     again, also if its leader works. With electors the side with a majority of them names one, and the other side nobody.
//   - A majority of the electors is gone: nobody leads until it is back.
//   - The electors' leader dies: nodes of the crowd that are cut off from all the others believe in it for 80 rounds.
//   - Somebody claims a reign that leaps: more than 2^32 above the highest that a node has heard of, or the second half of all
//     to a node that has heard of none. It is refused. If all are taken all the same, in some 2^30 claims, nobody can lead in that
//     namespace any more ([ErrLastReign]).
//   - A forged, changed or re-signed statement, a sequence that goes back, an age below zero, a body that is too large, a
//     flood: it is refused and counted, and the peer is named ([Refused]). What a peer may cost is looked at before anything of it is
//     decoded or verified. Two hosts with one key are both named ([Twin]).
//   - A node invents subjects, since anybody can make a key: of the news of all a node passes on 64 pieces in a round, half of
//     them from one peer at most, and keeps the youngest 1,024, and without electors it remembers 256 candidates; while the words of all of them count, a new
//     one finds no place. So a relay of a flood brings less than its peers take of one peer, and heartbeats come through;
//     other news may be late, or lost: in equal parts with the flood, since what a round allows comes back little by little, and not at its
//     beginning alone.
//   - A connection stalls: what waits in it grows no older, so a heartbeat looks younger by that wait. The first copy
//     comes by the quickest way, so this shows where all connections of a node stall.
//   - A relay lies about ages. It can keep a dead leader's last word alive for as long as it lies, and cannot make another.
//
// Sources: document 003; requirements B1 to B7, B10, B16 to B19, B21; D13.
package hint
