// Package pending sends an account's transactions to a blockchain and follows each one until it is
// final. Every intent is carried out once, whichever process dies meanwhile.
//
// A [Store] keeps intents and signed transactions: package pgstore in Postgres, [Memory] in one
// process. Any process may add an [Intent]. Only the process that leads the account's scope sends:
// it runs [Manager.Lead] with its gate and token.
//
//	accepted ──▶ nonce assigned, attempt signed and stored ──▶ sent ──▶ in a block ──▶ final
//	             └── one transaction, fenced by the leader's token
//
// With a driver of a chain, such as chain/evm, a store of package pgstore, and an election:
//
//	m, err := pending.New(pending.Config{Account: key.Account(), Chain: driver, Store: store})
//	…
//	role := election.Role{Scope: "payer", Fenced: func(ctx context.Context, l election.Leadership) error {
//		return m.Lead(ctx, l.Gate, l.Token) // sends, while this process leads
//	}}
//	…
//	in, err := store.Accept(ctx, pending.Intent{Account: key.Account(), Key: "invoice-17", Call: call}) // in any process
//	m.Wake()                                                                                            // or a poll finds it
//	…
//	r, err := store.Get(ctx, in.ID) // r.Outcome() says how it has ended, r.Standing() where it is until then
//
// A user needs [Config], [New], [Manager], and of the store [Intent], which goes in, and [Record], which comes out with
// its [Fate] and its [Status]; [Events] say what goes wrong. All other types are what a [Store] is asked: only the author
// of another store needs them, and package pendingtest tests it.
//
// # Terms
//
// A slot is one nonce of the account; the code calls the nonce Index, as package chain does. It has
// at most one intent, and attempts: signed transactions, each of which pays more than the one before
// and replaces it, or is signed anew since that one is outworn. A filler is an attempt that does nothing but use up its nonce.
// A [Life] is what was signed between two ends of the account, where a chain has such; a pad is the filler with which it begins.
//
// # Rules
//
//   - An attempt is stored before it is sent. So a deposed leader can only send what its
//     successor has too, which is harmless: the chain includes one transaction for each nonce.
//     Sending needs only the fenced door, and a takeover does not wait for a clock.
//   - The gate is asked right before each batch is sent.
//   - After a write without an answer, the rows are read before anything is sent.
//   - A send without an answer is unknown, not failed. "Nonce too low" is neither success
//     nor failure: every attempt of the slot is looked up.
//   - An intent whose nonce another sender has used gets another slot once that is final.
//   - The next nonce never goes down.
//   - A new attempt pays more than every stored attempt of its slot, sent or not; or as much, if the last one is outworn.
//   - What is outworn is signed anew in its slot. No intent gets another nonce for time, for a version of the chain, or for
//     what a node says: both attempts could land.
//   - No intent is signed in a life before its pad is final and outworn, nor before all that was signed in the life before is dead: the
//     final chain's blocks, up to the last that takes it, do not have it. What has landed there is done first.
//   - A count below what is final says nothing until it is known whether it is of another life.
//   - A cancelled intent is reported as cancelled once its filler is final.
//   - Where the chain's head stands, time counts in the place of blocks: a chain that makes them on demand makes none.
//   - If the database has another history than before, rows may be missing. No nonce is
//     assigned until every nonce of the account that was ever seen in the chain is final.
//
// # Limits
//
// A process has about 10,000 of an account's slots in memory, besides those that are not in a block and those of
// the newest blocks. Of older ones that are not final it knows the block, and reads them again when there is
// something to do. A new leader learns the blocks of all of them with its first look at the rows.
//
// If the database loses committed rows (asynchronous replication, a restore), an intent whose slot
// is lost is carried out again, unless the contract recognises it. A chain that takes back final
// blocks can do the same, or leave an intent undone whose slot another sender then used; an alarm
// reports it.
//
// # Reading order
//
// The machine is one value with a part for each concern; a part has one file, which can be read alone. First machine.go:
// the inputs, and the order in which the parts have their turn. input.go has what goes in and comes out. What the parts
// have in common: machine_account.go, machine_chain.go (the head), machine_slot.go, machine_line.go, machine_pace.go,
// machine_alarm.go. Then the parts, on the way of an intent: machine_rows.go reads the rows, machine_signing.go signs,
// machine_sending.go sends, machine_finding.go looks for what was sent, machine_proving.go proves that it is final,
// machine_saving.go stores that. What seldom happens: machine_front.go (the first slot does not move on),
// machine_unknown.go (the store has lost something), machine_paging.go (nothing becomes final for long), machine_life.go (the account ceases to exist).
//
// Around it: loop.go feeds the machine, perform.go and its neighbours carry out its actions, queue.go judges the intents
// that an assign has tried. What it and the stores have to agree on is in internal/rules. Stories of the machine are in testdata:
// an input a line, and the actions that it causes.
//
// Sources: requirements S15, S17–S26.
package pending
