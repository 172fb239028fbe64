// Package mtls carries messages between the processes of several organisations, over TLS 1.3 in which both sides prove who
// they are. It is a transport.Endpoint.
//
// It has two modes. In the fixed one, for organisations that work together, each node keeps a connection to each of
// Config.Peers. With Config.Roam, for an overlay of many nodes, nobody is connected until one of two calls the other, and
// the endpoint is a transport.Roamer. Nodes of the two modes do not talk with each other.
//
// # Who a peer is
//
// A node is known by its key. There are two ways to say who a peer is:
//
//   - By a fingerprint (Peer.Key): the SHA-256 of its public key, as "conch identity show" prints it. No CA is needed, and
//     none can speak for that peer. The peer's operator says the fingerprint, by a way that is trusted already.
//   - By a CA (Config.CA, Peer.CA): the peer's certificate was signed by it, and has the peer's name among its DNS names.
//     A pattern such as *.example is nobody's name.
//
// A peer speaks only as itself. Envelope.From is the name that the handshake has proven; no message contains it. A node
// says its own name once, in its hello, and a peer that calls itself otherwise than it is called here is refused: two
// organisations would not mean the same node by one name. Sessions are not resumed: each connection is proven anew.
//
// The time of a certificate counts where a CA says who a peer is, for as long as a connection lasts: one whose peer's certificate has
// ended, or that of the CA, is cut off within 20 seconds. A pinned key has no time: who has it can write any dates around it, so they
// would keep out nobody but a node whose clock is wrong. Keys, certificates and those of CAs are read again within 20 seconds of a
// change of their files. What cannot be read, or is another key of this node, waits for Reload, and the log says so.
//
// With Config.Roam and Config.CA there are guests besides: each node that has a certificate of that CA with exactly one DNS name
// that is a valid name, and neither this node's own nor that of one of Config.Peers with another key or CA. It is then the
// peer of that name, may call, and can be called. So the CA decides who comes in; without one only Config.Peers do. A guest
// is known as long as a connection or a call lasts. Two nodes with certificates of one name are one peer, and the second to
// call is refused: both sides say Twin, with both addresses. Link.Key tells which of the two is connected.
//
// # What is sent
//
// In the fixed mode each node connects to each peer and sends over its own connection: one stream, in batches of up to
// 256 KiB. So two nodes have two connections, and a message arrives after those of its subject that its sender sent to the same
// peer before. With Config.Roam two nodes have one connection, whichever has called, and its one stream has batches in both
// directions. A batch that was under way when a connection broke may be lost, or have arrived. Nothing is sent twice, and
// nothing is stored: who needs an answer asks again (package transport says so for all transports).
//
// At the start of a stream each side says hello: the version of the protocol, its name, and what it claims under each
// subject (transport.Claimer), such as the hash of each contract that it knows. A wing reads the claims of a peer and can
// name a difference before it shows as a failure.
//
// # Nodes that come and go
//
//	caller                     called node
//	TLS, hello ──────────────▶ waits while its own call comes first, or an earlier connection stands
//	Up         ◀────── hello
//	confirms   ──────────────▶ Up
//	batches    ◀─────────────▶ batches
//
// A called node cannot know whether the caller still means its call. So it says Up when the caller has confirmed, and a
// call that its caller has given up leaves no trace.
//
//   - If both call at once, the call of which the other side hears first counts. If both hellos are on their way it is the
//     one of the smaller name. One connection is left, and each side says Up once.
//   - A connection that stands is never replaced by a call. If the peer has lost it unseen, this side notices too, by the
//     end of the connection or by its silence; it says Down, and then takes the call, which waits meanwhile.
//   - Disconnect lets what waits leave, up to a second, and then ends the stream; so does a Run that ends a moment later.
//     CloseDoor takes no more calls, so that a node which is about to end can say goodbye to all that it is connected with.
//   - Down does not say why. The log does, and Stats counts it: for a peer, for a guest that is gone in the sum of all, and
//     for who could not prove to be anybody among the strangers.
//
// # Limits
//
// Everything has one, and it is the peer's own: a peer that is slow, dead or floods costs no other anything but its share
// of the processor.
//
//   - Of guests, Config.Guests may have called at the same time; the next one is refused, and both sides say Crowded. This
//     node may call more.
//   - To a peer wait up to Config.Queue bytes; then Send returns transport.ErrFull for this peer. What has waited for five
//     seconds is dropped: a machine that needs an answer has sent it again. Subjects are sent one message of each in turn, and each has a
//     sixteenth of the room although others have filled it all: what one log sends makes no other one's beats wait.
//   - A peer may send Config.Rate bytes a second. Over that, this node stops reading from it until the time has passed, and
//     its own queue fills. A guest that comes again still owes what it had sent over its rate.
//   - For a reader wait up to 1,024 messages or 8 MiB of each peer, and it gets one of each in turn. What finds no room waits
//     a tenth of a second, which holds up this peer alone, and over a longer time a quarter of that time; then it is dropped and counted, as
//     is all that follows until the reader takes something. With Config.Roam 256 MiB of all peers wait at most, of those that are gone too.
//   - Body, hello, claims, header, the streams of a connection and the connections of a peer are limited. A connection that has
//     not proven who is behind it in five seconds is cut off. There are 256 such at most; more wait in the host's backlog, and
//     if none of those is done within two milliseconds one of them goes, at random. A crowd that comes at one time gets in as fast
//     as the processor proves it, and one that only holds places loses them.
//   - Silence is questioned after Config.Keepalive and ends the connection after as much again: a line that swallows
//     everything is noticed after twice that.
//   - In the fixed mode a broken connection is made again after 0.1 s, then twice as late each time, up to a minute, less up to a half at
//     random. A peer that connects to this node is tried at once, so nobody waits a minute for one that has returned.
//
// # Running one
//
// New reads the configuration and listens, Run connects, or with Config.Roam takes calls and makes them. Reload takes another configuration and reads keys, certificates
// and peers again: a peer that is gone or whose proof no longer holds is disconnected at once, and nobody else. Stats
// counts for each peer what was sent, dropped and refused, with the Reason; the log has a line only when the state changes.
//
// # What can go wrong
//
//	wrong key, other CA, expired, unknown key   refused in the handshake; the other side sees "refused us", and knows if its
//	                                            own certificate has ended
//	a name that is not its own                  refused after the handshake
//	another version of the protocol             refused by both, with both numbers
//	two hosts with one identity, with Roam      the second is refused by each node that has the first; the log names both
//	a peer away                                 tried again; messages to it wait five seconds, then they are dropped;
//	                                            with Config.Roam Down, and transport.ErrPeer for messages
//	somebody else at an address                 Down, and the log names both
//	a peer that does not read                   ErrFull for it
//	no file descriptors left                    accepting pauses; if it lasts over a minute Run returns an error
//
// The caller owes: a key that only this node has; no second process that runs with the same key and name (the newer
// connection ends the older one; with Config.Roam the older one stays); quick readers, also of Links.
//
// # Cost
//
// With Config.Roam a connection that is made costs 2.3 ms of a processor, both sides and its end together. One that is idle
// keeps 136 KB, both ends together: 49 KB are the stacks of eight goroutines, 16 KB the sender's buffer of a frame, 16 KB
// buffers of the sockets, and the rest is of HTTP/2, TLS and the peer's certificate. BenchmarkConnect and
// BenchmarkIdleConnections measure it.
//
// The RPC library is connect: it is HTTP/2 of the standard library with a frame for messages, so this package owns sockets,
// handshakes and limits, and nothing of it has to be trusted with who a peer is. Sources: requirements I9, I10.
package mtls
