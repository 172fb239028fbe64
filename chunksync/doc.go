// Package chunksync has followers hold the leader's file data, ready to take over: the
// leader pushes chunks (requirement S22).
//
//	store, err := chunksync.Open(dir)
//	…
//	m, err := chunksync.New(chunksync.Config{ID: "n1", Scope: "files", Store: store, Peers: peers, Token: token})
//	…
//	mux.Handle("/sync/", http.StripPrefix("/sync", m.Handler())) // on every node, whoever leads
//	…
//	err = m.Lead(ctx, gate, token)                       // while this node leads
//	receipt, err := m.Put(ctx, "a/b", content, chunksync.AsConfigured)
//	content, err := m.Open("a/b")                        // on every node, at any time
//
// # Words
//
// A file is a list of chunks of 1 MiB, each named by the SHA-256 of its content. A
// catalog is all files of one [Version]; a write makes the next. A [Tenure] is one
// leadership as a follower sees it: epoch and term of its token.
//
// # A life
//
//	following --Lead--> gathering --enough heard--> adopting --stored--> leading --a later one is heard--> following
//
//	leading, for each peer: offer the catalog → send what is missing → offer it again: taken
//
// A follower that lacks nothing of an offered catalog takes it, in one step, and shows
// it from then on; until then it shows its last one. What has arrived is never sent
// again, whoever dies in between. Peers are pushed to at once when something changes,
// and offered everything once in a while; one that fails is left alone for longer each
// time, and none waits for another.
//
// # Rules
//
//   - A follower that has promised to hear a leader refuses all before it, durably: the
//     promise is on its disk before it is answered, and every offer is one. So the door
//     is the fenced one, and no clock is needed: of a leader that slept through its own
//     end nothing is taken.
//   - A new leader asks the others for that promise and for what they hold, and begins
//     with the newest it finds, under (its epoch, 0). It has asked enough of them when
//     no acknowledged write can have been missed: len(Peers) − Copies.
//   - A node that has lost some of what it holds does not lead and is not begun with. It
//     says what it held all the same, and counts as heard if a whole one holds as much.
//   - A chunk is taken only if the leader's catalog, as it was offered, names it, and its
//     bytes have that name.
//   - Content is down on the disk before its name, names before the catalog, the promise
//     before both. Then kill -9, at any instant, leaves the old catalog or the new one.
//   - What no catalog names is swept after each commit and before the content of the next
//     is asked for, and what an upload leaves that broke off at once; but nothing that is
//     being read, written or pushed.
//   - Names are keys in the catalog and nothing on the disk.
//
// # What a write promises
//
// Put returns when so many copies are on the disks of followers, Config.Copies unless
// told otherwise, a majority together with the leader by default. Such a write is in the
// catalog of every later leader, as long as a majority of disks keep what they wrote.
// What was acknowledged with fewer copies is lost with the disk of the leader, or when a
// successor does not reach it: it is then overwritten, also on the old leader when that
// comes back. [ErrUnconfirmed] is neither yes nor no.
//
// Two writes to one name: the later wins, there is no compare-and-set. Reads on a
// follower are of its last complete catalog, which may be old: they say of which
// version it is and when that was last known to be the leader's. So do reads on a
// leader that does not know yet that it is none.
//
// # Duties of the caller
//
//   - Give every node its own ID and all nodes the same members and Copies.
//   - Serve the [Manager.Handler] on every node, behind TLS or on a line that nobody
//     else reaches. Whoever has the token can write.
//   - Call Lead while the gate is open for this node, one at a time, with the elector's token.
//   - Never put an older copy of a folder back, and take a folder that was lost as a
//     lost copy: what it had promised is forgotten.
//
// # What can fail, and what happens
//
//	a follower dies, or its line   it catches up; writes wait if too few are left
//	the leader dies in a push      the successor shows the complete old or the complete new file
//	the leader is stopped          its successor goes on; when it wakes it is refused and follows
//	too few can be heard           nobody writes, reads go on: ErrTakingOver
//	a disk is full                 that node stays behind, the leader tries again; what is not named makes room
//	a follower's chunk rots        it is noticed when it is read, never served, and pushed again
//	a chunk of the leader rots     once that is noticed it resigns, and is made whole by its successor
//	a disk is in doubt             after an error that leaves open what is on it: that node takes nothing more until it is opened again; a leader resigns
//	the folder has other files     Open refuses: to begin anew would forget a promise
//	two terms of one epoch         each follower hears the one that came first
//
// # Limits
//
// The whole catalog is sent with every offer, and chunks are cut at fixed places: it is
// for some thousand files that change now and then, not for a file system.
//
// # State
//
// A machine decides for a leader and a promise for every disk; both are pure, and testdata
// tells the machine's stories. The loop feeds it and does what it says; [Store] is the disk.
// A mutex guards the machine, since writers read it too.
//
// Sources: requirement S22 (docs/requirements.md). The takeover is that of Lamport, "Paxos made
// simple" (2001), with one value, the catalog.
package chunksync
