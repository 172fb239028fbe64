// Package chunksync copies the files of one scope from its leader to its followers, so
// that each follower holds them before it has to take over (requirement S22).
//
//	store, err := chunksync.Open(dir)
//	…
//	m, err := chunksync.New(chunksync.Config{ID: "n1", Scope: "files", Store: store, Peers: peers, Token: token})
//	…
//	mux.Handle("/sync/", http.StripPrefix("/sync", m.Handler())) // on every node
//	…
//	err = m.Lead(ctx, gate, token)                       // while this node leads
//	receipt, err := m.Put(ctx, "a/b", content, chunksync.AsConfigured)
//	content, err := m.Open("a/b")                        // on every node, at any time
//
// The leader takes the writes and pushes them to the followers. Every node serves reads
// from its own disk. An elector, which is not part of this package, decides who leads: it
// provides the gate and the token that Lead needs.
//
// # Words
//
//   - A file is a list of chunks of 1 MiB, each named by the SHA-256 of its content.
//   - A catalog is all files of one [Version]. Each write makes the next version.
//   - A change is how a catalog differs from an earlier one of the same leader.
//   - The log is where a node keeps its catalog: a whole one, and the changes since.
//   - A [Tenure] is the epoch and the term of a leader's token.
//   - A promise is the tenure that a node follows. The node refuses all earlier ones.
//   - Peers are the other nodes of the scope.
//
// # How it works
//
//	following --Lead--> gathering --enough promises--> adopting --stored--> leading --a later promise--> following
//
// Gathering asks each peer for a promise and for the version that it holds. Adopting
// stores the newest catalog found as version (own epoch, 0). Leading pushes to each peer:
//
//	offer the catalog → send the missing chunks → offer it again → the peer takes it
//
// A peer that holds a catalog of this leader is offered the change since. One that refuses it,
// since its disk was lost, is offered the whole catalog. What a write costs does not grow with
// the number of files: it writes one line to the log of each node, and sends one change.
//
// A follower takes an offered catalog in one step, once no chunk of it is missing. Until
// then it shows its last one. Chunks that have arrived are not sent again, even if a node
// dies meanwhile. Each change is pushed at once, and the catalog is offered again at
// intervals. A peer that fails is tried again after growing pauses and delays no other.
//
// # Rules
//
//   - A promise is on the disk before it is answered, and each offer asks for one. A
//     deposed leader is therefore refused by every follower that promised a later one,
//     whatever its clock says: the fenced door is enough.
//   - A new leader writes only after len(Peers) − Copies peers have answered: each write
//     that Copies followers confirmed is then on one of them or on the leader itself.
//   - A node that has lost a chunk of its catalog does not lead, and no leader adopts its
//     catalog. Its answer still counts if an intact node holds a version as new.
//   - A follower takes a chunk only if an offered catalog names it and its hash matches. The
//     leader does not verify what it sends; if it is refused, it looks whether it has rotted.
//   - A follower takes a change only of the leader that made its catalog, and only if no write
//     is missing between the two.
//   - Chunks are written and synced before they are named, named before the catalog that
//     lists them is stored, and the promise is stored first of all. kill -9 at any instant
//     leaves the old catalog or the new one.
//   - A line of the log is synced before its version is acknowledged and before another line
//     follows. Open writes the last line again and syncs it, since the process before may have
//     been killed in between. A last line without its end was never acknowledged, and is dropped.
//     A log with any other fault is not opened, since it may have lost what was acknowledged.
//   - A log that has doubled is begun anew with the whole catalog, by a rename, if there is room.
//   - Chunks that no catalog names are swept after each commit, before the next catalog's
//     chunks are requested, and when an upload fails. Chunks that are being read, written
//     or pushed are kept.
//   - File names are keys of the catalog. They never become paths on the disk.
//
// # What a write promises
//
// Put returns once the given number of followers have stored the write: Config.Copies by
// default, which with the leader is a majority. Every later leader then has it, as long as
// a majority of the disks keep what they wrote. A write with fewer copies is lost if its
// holders' disks fail or if the successor cannot reach them. The successor's catalog then
// replaces it, also on the old leader. [ErrUnconfirmed] means that the outcome is unknown.
//
// The later of two writes to one name wins. There is no compare-and-set. A read returns
// the node's last complete catalog with its version and the time when that was last known
// to be the leader's. It may be old, also on a deposed leader that does not know it yet.
//
// # Duties of the caller
//
//   - Give each node its own ID, and all nodes the same members and Copies.
//   - Serve the [Manager.Handler] on every node, behind TLS or on a private network. A
//     client that has the token can write.
//   - Call Lead while the gate is open for this node, one call at a time, and never with the token
//     of a term in which the folder was another one.
//   - Never restore an older copy of a folder. A lost folder has forgotten its promise:
//     count it as a lost copy.
//
// # What can fail, and what happens
//
//	a follower dies or is cut off  it catches up; writes wait if too few followers are left
//	the leader dies in a push      the successor shows the old file or the new one, complete
//	the leader is stopped          a successor leads; on waking, the old leader is refused and follows
//	too few peers answer           writes fail with ErrTakingOver; reads go on
//	a disk is full                 the node stays behind and the leader retries; sweeping makes room
//	a follower's chunk rots        a read notices it, never serves it, and the leader pushes it again
//	a leader's chunk rots          once a read notices it, the leader resigns and its successor repairs it
//	a disk error is unclear        the store takes nothing more until it is reopened; a leader resigns
//	the log rots                   Open refuses it and names the line; the other nodes have what it had
//	the folder has foreign files   Open refuses it: a new store there would forget a promise
//	two terms share an epoch       each follower follows the one that asked first
//
// # Limits
//
// A catalog is in memory, and a new leader sends it whole to each peer. Chunks are cut at
// fixed offsets. This suits some ten thousand files. It is not a file system.
//
// # State
//
// The pure machine decides for a leader, the pure promise for every disk. The loop of
// [Manager.Lead] feeds the machine under a mutex, since writers read it too; testdata has
// its stories. [Store] is the disk.
//
// Sources: requirement S22. The takeover is that of Lamport, "Paxos made simple" (2001),
// with the catalog as its one value.
package chunksync
