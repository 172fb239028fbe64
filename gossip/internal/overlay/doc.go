// Package overlay keeps the overlay of many nodes: who is connected with whom, so that what one node says reaches all. No
// node knows all others.
//
// A [Machine] is one node's place in it, and a process has one, whatever is told over it. It is pure: inputs go in, actions
// come out. Each node has a view, a multiset of arcs to others. The protocol is SPRAY: a newcomer adds as many arcs as its
// contact has, and one; nodes exchange halves of their views; so a view has H_n − ½ arcs on average (H_n is the n-th
// harmonic number, 1 + ½ + … + 1/n), although no node knows n. An arc is followed in both directions: there is one
// connection with a peer, however many arcs lead to it or from it. [Keep] asks for connections beside the view.
//
//	                    ┌── Down, and an arc leads there: at most three times a period ───┐
//	                    ▼                                                                 │
//	away ──needed──▶ dialling ────────────────────────── Up ───────────────────────────▶ up
//	 ▲                  │ Down: the peer is gone, its arcs are replaced                   │
//	 └──────────────────┴──────── needed by neither side for three ticks, Goodbye, Down ──┘
//
// A connection is needed for an arc, also one that was given in an exchange which is not answered yet; as a spare one; or
// to ask a contact or a peer that was lost. Each side says in its Hello whether it needs it; until then the other side takes
// it that it does. A peer is a neighbour ([Machine.Neighbours]) while the connection is up.
//
// Read machine.go first, then machine_join.go, machine_exchange.go, machine_peers.go (peers that come and go, and what becomes of their
// arcs) and machine_settle.go: which connections that needs, and which make room.
//
// # Rules
//
//   - Join: the first arc leads to one of the peers that the contact names in its Welcome. The contact asks the other end
//     of each of its arcs to take one to the newcomer; a contact without arcs takes one itself, and has then joined too.
//     Of two that join by each other one is the newcomer. A contact that cannot be reached, or has no room, is followed by the
//     next one at once.
//   - Exchange, once in a period of ten ticks: with the oldest arc's peer. Its arc is spent, half of the view is given, this node
//     itself among it, and half of the other's view comes back. An arc that would lead from a node to itself leads to the giver.
//     What is given is in neither view until the answer comes. A request is repeated until it is answered and carried out
//     once, so arcs are neither made nor lost. After 30 ticks the giver takes its half back.
//   - A peer that was there and is gone: its arcs are dropped, and each is replaced by a copy of another arc, but for one
//     in as many as the view had arcs. A peer that could not be reached at all: each is replaced. An arc to a newcomer that
//     no exchange has moved yet is dropped and not replaced in either case. A node that goes takes the arcs of its own view
//     along, so those that lead to it are replaced; a newcomer has few of its own yet.
//   - A peer that has restarted (its Hello has another incarnation) is a new one: what it was before is gone.
//   - Goodbye, when a node leaves, does at once what its silence would do later. A peer that connects after that hears it too.
//
// # Beside the paper
//
//   - peer-cache: the last 16 peers of welcomes and exchanges are remembered. A node with fewer than five neighbours
//     connects to some of them, beside its view, and gives these spare connections up when it has eight. SPRAY alone is cut
//     in two when half of the nodes crash, in one case of five, and cannot rejoin what is cut. It is also why there is no
//     full mesh for few nodes (B23): up to six nodes this is one.
//   - ask-the-lost: the last 16 peers that went away without a Goodbye are tried again, one in each period, and a
//     contact after 1, 2, 4, 8 … periods and every ten minutes. An exchange with one node of another part makes both parts
//     one. So the overlay heals after a cut, and after a start in which the contacts of some do not know those of others.
//   - Many newcomers: the arcs that a contact has say little while a site starts. It takes those that it had after its last
//     exchange, and what a network that has grown by the newcomers since would have more; and it asks any neighbours, so
//     that no few have arcs to all. A node that starts again and again is made known once in a period.
//   - turn-away: a contact has 256 connections at most. Where it needs room it gives up that of the newcomer which it has welcomed
//     first, since that has all it came for. If there is none it says so (a Welcome without a number) and names others, of which
//     most have joined by it a moment ago; so newcomers become a tree. What it names is a hint: the transport proves who they
//     are, a newcomer asks eight peers before it pauses, and 64 connections wait for their end at a time.
//   - The first arc of a newcomer goes to any peer that its contact names: one contact in the configuration of thousands
//     would otherwise have an arc of each.
//
// # Duties of the caller
//
//   - One goroutine feeds the machine. Tick comes at once, and then about once a second, jittered by a fifth, so that nodes do
//     not fall into step; ten of them are a period. In the first second a node that has nobody and asks nobody may have some
//     more. The machine reads no clock and draws its choices from Config.Seed, which is random.
//   - Connect is answered by Up or Down. When a connection ends in any way but by the machine's own Disconnect, Down says
//     so, within seconds: a silent peer has to be asked by the transport. After Disconnect comes neither, until the next
//     Connect of either side. Up comes on both sides, before any message of that connection.
//   - From is the name that the transport has proven. Strangers are the transport's to refuse. What [Sound] refuses, a decoder may
//     hand on or not: the machine looks again.
//   - Names are enough where the transport knows the addresses; else a Peer has an address, which the machine hands on as
//     somebody said it. A wrong one is found out by the transport, since it proves the name.
//   - After Leave comes nothing but Up, of a peer whose call was under way: it is told goodbye. To come back is a new
//     machine with another incarnation.
//
// # What can go wrong
//
//   - A message is lost: each is repeated in some way, but for Forward; the overlay then has one arc less. One that comes
//     twice counts once. One that comes much later is refused, or is an arc more.
//   - The answer to an exchange does not come for 30 ticks: both have what was given, and what was to come back is gone.
//     The number of arcs changes by the difference of the halves, to either side.
//   - Nobody can be reached: contacts, remembered and lost peers are asked, one after another, with growing pauses up to 30
//     ticks. A node without contacts waits.
//   - A whole site starts within seconds by the same contacts: a view has one arc and a half less than H_n − ½, or one more
//     (TestASiteStarts). With thousands it has two less (5.6 instead of 7.7 with 2,000 nodes in ten seconds and three
//     contacts). The nodes have their floor, and the overlay is in one piece within a minute (TestABurst). It stays so:
//     exchanges make all views equal, so no node can tell from its neighbours that there are too few arcs, and none knows n.
//   - A node starts again every few seconds, for minutes: views lose or gain about two arcs (TestARestartLoop).
//     If one does so without end they lose most of them, or with five nodes gain up to thirty: of 3 arcs in twenty views 0.9
//     would be left after two hundred starts, twelve seconds apart. So a node that has less than half of the arcs that it
//     usually had takes one more in each period. The floor keeps the overlay in one piece meanwhile. Whichever nodes start again, in
//     turn, views keep their arcs.
//   - A peer breaks a limit: oversize lists or texts, a view with the receiver in it, answers that nobody asked for, more
//     than 64 messages a tick, exchanges more often than each half period, more than 256 connections that others opened and
//     that one side needs.
//     The message is Refused with the reason, which is for counting, and changes nothing.
//   - A node lies within the limits: it may name peers that do not exist, up to half of a view in half a period. They
//     cannot be reached, and are replaced by copies of other arcs. It may also name only its friends; nothing here stops a
//     conspiracy of proven nodes from surrounding a node. Its contacts, tried every ten minutes, are a way out. And it
//     may give more arcs than it gets, up to 64 in each view; nothing lowers their number again. It may name addresses that
//     are none of the overlay's: each node that gets such an arc dials it once or twice, up to 64 times a second for each
//     node that lies (a Forward is a message, and a peer may send 64 of them in a tick).
//
// # Cost
//
// At rest, a node sends 1.3 messages a second with ten nodes and 1.8 with a hundred, most of them Hellos of some 20 bytes;
// two in ten seconds carry half a view, some hundred bytes. It makes 0.2 and 0.3 connections a second: each exchange moves
// arcs. TestCost measures it. A step takes time by the number of neighbours times that of arcs.
//
// Sources: Nédelec, Tanke, Frey, Molli, Mostéfaoui, "An adaptive peer-sampling protocol for building networks of browsers",
// World Wide Web 21, 2018; document 003; requirement B23.
package overlay
