// Package quorum runs one log on one node: as a member, as a follower, or first as the one and then as the other. A majority of named members
// decides which entry is the next; every node has a copy that it checks entry by entry. Package txlog has the words.
//
// It is a module of its own, since it imports etcd's raft: a program that uses another wing downloads none of that.
//
//	id, err := disk.Create(ctx, file)        // once, at each member: it draws the store's id, which the genesis names
//	genesis := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: members}.With()
//	s, err := disk.Begin(ctx, file, genesis) // at the first start; later disk.Open
//	line, err := endpoint.Open("log/flags")  // of package transport/mtls; the same subject at every node
//	h, err := quorum.New(quorum.Config{Self: "n1", Key: key, New: kv.New, Seed: rand.Uint64(), Store: s, Line: line, Peers: endpoint.Peers})
//	go func() { ended <- h.Run(ctx) }()
//	…
//	answer, err := h.Goal(ctx, "put-1", []byte(`{"op":"put","key":"flags/dark","value":true}`), 0)
//	value, at, err := h.Fresh(ctx, []byte(`{"get":"flags/dark"}`))
//
// A [Host] is one node of one log. [New] goes on from what the node's store has (package disk), [Host.Run] takes part until its context ends.
// [Host.Goal] has a goal executed, [Host.Query] answers from the copy that is here, [Host.Fresh] from what a majority has, [Host.Change] makes
// other members, [Host.Status] says what is known, and Config.Tell is told what happens.
//
//	 Goal, Fresh, Change         Query, Fresh: a view of the copy
//	        │                       ▲
//	        ▼                       │
//	┌──────────────────────────── core ─────────────────────────────┐
//	│ courier ──goal──▶ member ──append──▶ majority   follower      │
//	│    ▲                │ ▲                 │           ▲         │
//	│    └─── applied ────┘ └──── facts ──────┘           │ applied │
//	└──────────────┬────────────────────────────────┬───────────────┘
//	          writes, then                     acts and answers
//	               ▼                                ▼
//	            store                    line of the transport, gossip
//
// What is in the box is pure: the loop of this package feeds it here, and a simulated world elsewhere.
//
// # Order
//
// What a step writes is stored before anything that it says leaves the node, is answered, or is told to the other machines. Entries that a
// head covers are given to other nodes at once: they are committed, whatever becomes of this node's disk. Stored means that
// it is on the disk. Two things promise nothing, and may wait in the process's memory for the next write, for about a second
// (store.Step.Lazy): heads, and the word that entries on the disk are committed. A power cut takes them away, and so does a process that is
// killed: they come again. While the loop waits for the disk, what comes waits too, and is taken together afterwards: one sync serves many
// goals. A follower's copy has records before they are stored: nobody reads it then.
//
// # Reads
//
// A query is answered from a view, beside the loop, which goes on meanwhile; so many run at a time and no more. For a fresh one the core
// first says up to where the copy has to come, and the view is taken after it has.
//
// # Effects
//
// Config.Perform performs what the goals ask for outside of the log, one after the other: at the leader, after the commit, while its
// act door is open. Then an entry says so, and nobody does it again.
//
// # What can go wrong
//
//	a write or a sync fails           Run returns the store's error, and has said nothing since: the store is closed for good (sync-first)
//	the store has lost a promise, or has one that cannot be   Run returns ErrLost: the node goes on with another store, and asks to be admitted
//	the copy's memory is wrong        the copies are made anew from the store
//	a leader's memory is wrong        its members refuse what it sends; it gives the term up, drops what nobody can count
//	                                  on, and makes everything anew
//	a step takes seconds              the last beats are sent again meanwhile: a scrub of a large state deposes nobody
//	this node is a member no more     it goes on as a follower, from the same store
//	a member hears no leader for long   it follows: the members may be others by now, who do not speak to it
//	two processes have one name and key  the store that is heard stays the member's; the other one is refused, and both are told
//	a node asks for too much            its share of the leader's room is bounded: more goals are refused (txlog.ErrTooMany), and for more
//	                                  reads it asks again, for five seconds
//	the leader's own users do           so is theirs, and larger for goals; a read waits for room as well (ErrManyReads)
//	nobody leads for long               a goal waits at a member for a minute: it is not executed hours later
//	other members cannot decide         the leader refuses the change, and waits for a store that is about to be admitted (txlog.ErrAway, ErrChanging)
//	a node asks that the caller does not admit   its goals are refused (Config.Submits, txlog.ErrBarred); it may follow and read
//	a leader dies after an effect and before its entry   the next one performs it again, by the same name
//	nobody answers for a goal         the error wraps txlog.ErrUnknown: asked again with the same id, it is executed once
//
// The caller owes a line that is open until Run has returned, the connections to all members and some other nodes, a store
// that nobody else uses, and the heads and suggestions that gossip brings.
//
// # Inside
//
// Package majority is the authority: who leads, and which entry is stored by a majority; etcd's raft core in it decides. Package member executes
// the goals of the node that leads, and looks at what another leader sends. Package courier brings the goals of a node's users to the leader.
// Package follower keeps a copy, and gives its history to others. Package wire has what nodes say, and package core joins the machines. They are
// pure, and lie in txlog/internal and txlog/quorum/internal. Package logworld beside the core has a simulated world around it: conch-lab sim log.
//
// Sources: document 003, requirements B8 to B15, V1 to V8.
package quorum
