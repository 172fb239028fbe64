// Package notes is a domain of money that any member may spend: notes of whole amounts, kept in purses. It is the worked
// example, and this page teaches how to write the next domain.
//
// # What you write
//
// A domain is a value that implements [domain.Rules]: four pure functions. Begin with two questions.
//
// What is a state? Here it is a [Note], a purse and an amount. The ledger keeps a name and a hash of it, the members its
// bytes. Give the bytes one form and refuse every other: if {"amount":5} and {"amount":05} were both notes, two members
// could have different bytes for what both call the same. A note is written
//
//	{"purse":"rent","amount":5}
//
// with the fields in this order, no spaces, and the amount from 1 to 18446744073709551615 without a leading zero. A purse
// has 1 to 32 of the characters a-z, 0-9 and -.
//
// What may be asked for? Here a member pays from one purse into another, and the issuer makes new notes:
//
//	{"pay":{"from":"rent","to":"petty","amount":5}}
//	{"issue":{"to":"rent","amount":100}}
//
// This is the payload's one form. Users may write spaces, and the fields in another order.
//
// # Prepare
//
// Turn what a user wrote into the payload, or say what to write instead. Nothing is stored yet, so this is the only error
// that a user sees at once: refuse here whatever can be known to be wrong. The payload of a payload is itself.
//
// # Label
//
// Name the group in which Assemble looks for a state: here its purse. A label makes the search short, it proves nothing.
//
// # Assemble
//
// Say which states go, which must stay, and which come. You get a view and no clock, so equal views give equal drafts.
//
//   - Look for states from a place drawn from the intent: members that all began at the same note would spend the same
//     note. Look at a bounded number of them; a node does this in its loop.
//   - Return ErrNever if no view can help: that ends the intent. Return ErrConflict if another view may help, such as an
//     empty purse, which may be filled later: that waits. Every other error counts as a failure of your rules, and an
//     intent has three.
//   - What is left over is a state too: here the change is the second output. What is used up leaves none.
//   - What has to be there and stays is a read: the ledger refuses the attempt once it is spent. Notes need none; the
//     register in examples/slots reads the day that has to be open.
//
// A payment takes 16 notes at most, of the first 256 that it sees. A purse of many small notes is merged by paying from it
// to itself, in one payment or several: such a payment takes all the notes that it may, and leaves the amount as one note
// and the rest as another.
//
// # Endorse
//
// Judge what another member proposes, and trust nothing of it. Three questions find nearly all that can be wrong:
//
//   - Is every byte in its one form: payload, inputs, outputs, data?
//   - Do the outputs follow from payload and inputs alone? Here: the amount to the payee, the rest to the payer, nothing
//     else, and no sum that overflows.
//   - May this owner ask for it? Here only the issuer issues, and any member pays.
//
// Do not ask whether the choice was good: other notes would have done as well. What uses states that are spent is the
// ledger's to refuse.
//
// # Prove it
//
// Package domaintest judges any rules: hand it some requests. All are of one owner, so write a test of your own for what
// each member must not do: hand Endorse a [domain.Proposal] of the wrong one. Fuzz what reads bytes of others.
//
// # Run it
//
// Put a name and a version into the contract's declaration (ledger.Contract.Domain), and whatever the rules were made with:
// here the issuer. Members with different rules refuse each other's proposals for ever, so a new rule is a new contract.
//
// The folder examples/slots has a second domain with its tests, several nodes over transport/memory in one of them, and
// below it the whole program of an organisation: a database, mutual TLS, and a contract on Ethereum. "conch node" itself
// knows this domain alone.
//
// # Limits
//
// An attempt has up to 256 inputs, reads and outputs each, and up to a megabyte in all (package wire). On Ethereum an
// output costs about 23,000 gas, an input 5,400, a read 2,500, and one attempt has to fit into a transaction.
//
// Sources: document 002; requirements P12 and P36.
package notes
