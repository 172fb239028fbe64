// Package endorser judges what coordinators propose, for one member of a contract.
//
// A coordinator asks every member to endorse attempts. A member that finds an attempt right signs its assembled hash, and
// the ledger takes an attempt that enough members have signed.
//
// # What is judged
//
// The form: what the ledger would skip as malformed, or what comes with other contents than it commits to, is refused
// without a look at the rules. The states: an input or a read whose contents are not known here is a conflict, and the
// coordinator may ask again with the attempts that create it. The rules of the domain.
//
// # What is not judged
//
// Whether an attempt can land. Two attempts that spend one state are both endorsed, and so is one that two coordinators
// have: the ledger takes one of them, and a member that refused the second would starve somebody behind a cut link (D17).
// Nor whether the coordinator is the best one: any member of the committee is served, unless the range that it names is
// more than two ranges old here. A member that is behind endorses whatever is newer.
//
// Policy Strict has the words of document 002 instead (P25, P26): the member runs the selection for its own height, and
// refuses everybody else.
//
// # The machine
//
// [Machine] is pure: a request is unknown, checking or answered, and [Diagram] draws that. The loop runs the rules
// ([Judge]), since they are someone else's code, and signs what leaves. A request has one answer (I10): one that comes
// again while it is checked has that answer, and one that comes again later has it again, without another check, until
// its wait is over.
//
// Sources: document 002; requirements P12, P21, P25, P26, I9, I10; D17.
package endorser
