// Package sequencer runs one organisation's node of private contracts that several organisations share.
//
// Each organisation runs a [Node] with its own keys and its own database. Its users hand intents in ([Node.Submit]); the
// node owns them until each has ended ([Node.Wait]). All nodes of a contract assemble, endorse and order intents
// together, and the base ledger alone decides what is true: it takes an intent once, and a state is spent once. Nobody
// is elected, and nobody has to be trusted with more than liveness.
//
//	declared := ledger.Contract{ // the same at every node
//		Chain: 1337, Address: address, Members: accounts, Committee: accounts, Needed: 3, Range: 100, Depth: 2, Life: 50, Domain: notes.Name,
//	}
//	node, err := sequencer.New(sequencer.Config{
//		Self: account, Keys: keys, Secret: secret, Store: store, // of package pgstore
//		Peers: names, Transport: endpoint, // what each other member's node is called in the transport
//		Contracts: []sequencer.Contract{{Declared: declared, Rules: notes.New(issuer), Scheme: scheme, Ledger: chain}}, // of package evm
//	})
//	go func() { ended <- node.Run(ctx) }()
//	…
//	_, err = node.Submit(ctx, address, "rent-5", []byte(`{"pay":{"from":"rent","to":"petty","amount":5}}`), 0)
//	result, err := node.Wait(ctx, address, "rent-5") // Confirmed, or Why not
//
// # The parts
//
//   - [ledger.Contract] is the declaration that all nodes have; [Ledger] is where it lives.
//   - [domain.Rules] say what its states are. Package notes is the worked example.
//   - A [Store] keeps what the node has promised: package pgstore in Postgres. What becomes of the intents, [Node.Wait],
//     [Node.Status], [Node.Story] and [Config].Told say.
//   - Behind the door, in internal/, sender, coordinator and endorser are pure machines, and book is what the node knows of the
//     states. Their core joins them, and decides for all contracts. This package is the loop that feeds the core and performs
//     what it says: one goroutine, workers for signatures and rules, one writer for the store.
//
// A contract in which nothing happens is in the store alone, and is not followed, until a message or an intent wakes it
// ([Config].SleepAfter). Thousands of them cost a node next to nothing.
//
// # Where to begin
//
// The folder examples/slots of the repository has a register that organisations share: its rules, a test with three nodes in
// one process (the chain and the store of sequencertest, transport/memory and [ledger.Plain]), and a program that runs one organisation's node for
// real (sequencer/evm, sequencer/pgstore, transport/mtls).
//
// # Duties of the caller
//
// A store has one node; one of package pgstore has one start of it. The ledger's Submit keeps the order of a contract's transactions. The transport proves who a peer
// is; [Config].Peers says which account it has.
//
// Sources: document 002; requirements P5, P28, P38 to P42, I9, I10, Q1 to Q19.
package sequencer
