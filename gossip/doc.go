// Package gossip suggests one leader to thousands of nodes, and tells all of them the same news, without a database.
//
// What it names is a hint. Two nodes may name two leaders for a while: when the network is parted, when a leader has died
// and its heartbeat is still valid, when two take a reign at one time. A reign is not a token, no gate opens by it, and it
// fences nothing: only a log or Postgres makes a leader safe.
//
//	line, err := mtls.New(mtls.Config{Self: "n1", Listen: "10.0.0.1:7440", Key: file, Peers: others, Roam: true}) // package transport/mtls
//	…
//	a, err := gossip.New(gossip.Config{
//		Transport: line, Address: "10.0.0.1:7440", Key: identity.Signer(), // mtls.LoadIdentity reads it from the same file
//		Peers:      known, // the same nodes as others, and the key of each
//		Namespaces: []gossip.Namespace{{Name: "site", Electors: electors}},
//		Tell: func(e gossip.Event) {
//			if l, is := e.(gossip.Leader); is {
//				work(l.Self)
//			}
//		},
//	})
//	go func() { failed <- line.Run(whole) }() // its context ends after that of the agent
//	err = a.Run(ctx)
//
// Between nodes of one process the transport is that of package transport/memory.
//
// An [Agent] is one node. [New] reads the configuration, [Agent.Run] joins the overlay and takes part until its context ends.
// [Agent.Publish] tells all nodes something, [Agent.Withdraw] says that this one cannot do a leader's work, [Agent.Return] that it can
// again, [Agent.StandBack] that a person does not want it to, [Agent.Status] says what is known, and Config.Tell is told what happens.
//
//	       Tell        Status, Publish, Withdraw, Seniority
//	        ▲                      │
//	     mailbox                   ▼
//	        ▲          ┌──────── core ────────┐
//	        └──────────┤ hint.Machine         │  a quarter of a round
//	                   │        ▲ Arcs        │                       ◀── Due, Tick ── Run, one goroutine
//	                   │ overlay.Machine      │  a second
//	                   └──▲───────────────▲───┘
//	Connect, Disconnect   │               │  lines "gossip" and "spray"
//	Up, Down              ▼               ▼
//	                   transport.Roamer
//
// # What the loop does
//
// It is one of internal/step, whose rules say what comes first.
//
//   - What has become of connections comes before every message, so that no message is of a connection that the machines
//     do not know; the end of one comes after the last words on it, so that a goodbye is not taken for a fault, whether they
//     wait in the transport or are in the hands of the loop.
//   - Time passes after the messages that wait to be read: what they say may be what a machine would miss. A flood stops
//     the time for 256 messages at most, and where a connection ends for some 2,000. Among them the words of electors go first.
//   - Timers are jittered by a fifth, so that nodes do not fall into step. A node that is nowhere a candidate has no such
//     timer for statements: it wakes up when its leader's last word ends, or a peer is to be asked, and not a moment earlier or
//     later. Such nodes do not fall into step, although there is no jitter: when one wakes up does not depend on when others do.
//   - A user's call takes its place between two inputs. None of them waits for the network.
//   - A process that stood still for longer than a heartbeat counts, in the namespace where that is shortest, cannot date what waited
//     for it meanwhile: a leader that has died would look alive. So it reads no statements for one round, which empties what the
//     transport has kept. Then the machine listens before it leads or follows, and asks others for what it has missed.
//   - When ctx ends the node leaves in order: it says that it does not lead any more, so that the next one need not wait
//     until it is missed; a round later it says goodbye; a round later it ends its connections.
//
// # Connections
//
// The overlay asks for connections and gives them up. Electors keep one to each other elector as well, since they speak
// directly: with growing pauses up to five seconds they dial one that is not there. Where both need one they share it, and it
// ends when neither does. An elector's connection is no neighbour of the overlay unless one of the two overlays uses it.
//
// A node of the configuration is dialled where the configuration says; any other one where others say, or it says itself,
// that it listens. The transport proves the name in either case.
//
// # Names
//
// Machines know subjects, people know names. [Node] has both. A name is Proven if the configuration says it of that key, or
// if the transport has proven it on a connection that stands. Else it is what the subject says in its heartbeats, which
// proves nothing; a name that is known to be another's is left out. A [Subject] is the fingerprint of the node's key, as
// package mtls has it.
//
// # Incarnations
//
// What a node said before it was restarted must not count against what it says now. With Config.StateFile each start takes
// a number above the last one, and stores it before it is used. Without, the wall clock makes it: a node that comes back with
// an older clock is heard again as soon as its neighbours have told it what its last life has said; what it publishes before
// that is lost.
//
// # Events
//
// One goroutine calls Config.Tell, in order. While it does not return up to 1,024 events wait. What is more is left out, and
// [Missed] says how many: refusals first, then the oldest news. The newest [Leader] of each namespace is always told. Run
// waits for the call that is under way when it ends; what waits is dropped.
//
// # What can go wrong
//
//	no contact answers within ten seconds    without electors the node names itself, in reign 0, until it meets somebody
//	a peer sends what is wrong               Refused with the peer's name, and Counts.Refused by reason; nobody else notices
//	two hosts have one key                   Twin names both, as they call themselves: name@address
//	the state file is damaged or full        New says so, and replaces nothing
//	a peer's queue is full, or it is gone    Counts.Unsent; exchanges repair it
//
// The caller owes a transport that runs until Run has returned, and then ends it; one agent for each transport; a Config
// that agrees with the other nodes' in Round, Namespaces and electors.
//
// # Inside
//
// Package hint says by which rules a leader is named, and what can fail; package overlay who is connected with whom; package
// wire what is said, and who signs it; package core joins the two machines. All four are pure, and lie in gossip/internal. Package crowd
// beside them has a simulated world around the same core: conch-lab sim gossip.
//
// Sources: document 003; requirements B7, B16 to B19, B21, B23.
package gossip
