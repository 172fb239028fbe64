// Package alerts decides what fires and which receiver is told, in one process of several, so that one alert is one incident however often the leader
// changes. It knows a gate and nothing of elections.
//
//	store, err := pgstore.Open(ctx, pgstore.Connection{URL: url}) // package alerts/pgstore; `conch migrate up` makes its tables
//	cfg := alerts.Config{Cluster: "prod", Node: "node-1", Rules: rules, Receivers: receivers, Hash: hash}
//	e, err := alerts.New(cfg, store, conditions, teller)
//	w, err := alerts.NewWatcher(cfg, store, samples, teller)
//	…
//	go w.Run(ctx) // on each node, whether it leads or not
//	role := election.Role{Scope: "conch:alerts", Lead: func(ctx context.Context, l election.Leadership) error { return e.Lead(ctx, l.Gate) }}
//
// # Words
//
//   - A [Rule] has members: the label sets for which its condition is true. One is pending, then it fires. Members that have the labels of
//     GroupBy in common are a [Group], which is told as one.
//   - The number of a group rises with each change that is worth a message: it begins, ends, has one more member that fires, or a silence of it ends.
//   - A [Telling] is what one receiver has been told of one group: up to which number, and whether that is in doubt. What is to be said follows from the
//     two. There is no queue, so that only the newest is ever said.
//   - A doubt is that a message may still arrive: it had no answer in time, or its sender was replaced before it had one.
//   - A [Silence] keeps members from being told. It changes nothing about what fires.
//   - A node cries when it tells something that no leader can.
//
// # Rules
//
// Each has the name by which conch-lab sim alerts --break leaves it out.
//
//   - rows: what is pending, fires, is silenced and was told are rows. The memory of a leader is a copy, which is thrown away when nobody knows what has become
//     of a write. What is pending begins anew if nobody has evaluated for long, and what fires goes on.
//   - record-first, fenced-marks: what is sent is recorded, under the fence; then it is sent; then its answer is recorded, under the fence.
//   - in-order: to one receiver one message at a time. Nothing newer is said before the older has an answer or none for sure; then the newest alone is said.
//   - doubt: what had no answer in time is said again a minute later, when no copy of it can arrive any more, to receivers with keys until they answer. What the
//     leader before has sent without an answer is said at once, since perhaps it has not left, and once more a minute later, since perhaps it has. A
//     text is said twice at most.
//   - key: the key of a group has its cluster, its rule and a hash of its labels, and nothing that changes.
//   - no-data: a condition that selects nothing, or cannot be evaluated, changes nothing. It is a member of [NoDataRule], for a day
//     if it only selects nothing, and not at all if it never did.
//   - gate: to send is an act, with room for all of its time before the deadline.
//   - same-files: a rule or a receiver that the leader's file lacks changes nothing until all nodes that live have the same file. Until then they are members
//     of [DifferRule].
//   - A silence suppresses telling. Its end tells at once what still fires, and names the silence; an end is told, silenced or not, to whom the beginning
//     was; what begins and ends in a silence is told to nobody.
//   - Nothing is given up, but a text that may have come twice. What fails is tried with growing pauses up to a minute, what is refused each five minutes, since a
//     person may mend the file. What has ended meanwhile is one line of text, and nothing to a receiver with keys.
//   - A group that fires all the time has a message each five minutes at most. A message names ten members and counts the others. The urgent come first.
//   - What decides is numbers and members, never text: another version, or another annotation, sends nothing.
//
// Where no leader can tell, each node watches two things, and only tells that they are wrong:
//
//   - one-key: that the database cannot be asked all nodes tell, one after the other, under one key; texts the first two alone.
//   - leader-resolves: that it can be asked again the leader alone tells, when all nodes are there again, or gone for ten minutes: since a node that
//     has told it may die, and one that recovers knows nothing of it. It tells it twice, a minute apart.
//   - hourly: a node that is still cut off tells it again each hour, since the leader may have taken it for gone.
//   - That the database can be asked, but nobody evaluates, one node tells, which claims a row; and the next evaluation ends it.
//
// # When something fails
//
//	the leader dies before, in or after a record   nothing, nothing, or all is recorded; the next one reads it, and says the newest
//	it dies between sending and noting             the pager has one incident; a text may come twice, with the same numbers
//	it freezes and wakes up                        the gate refuses to send, the fence to record, and Lead ends
//	a receiver does not answer                     it is told again a minute later; other receivers do not wait for it
//	a record has no answer                         the rows are read again; answers that had come are not forgotten
//	the database is away                           nothing is told but that, by each node
//	its clock is set                               nothing: a leader asks it once, and pendings begin anew if it makes the gap look long
//	all of conch is gone                           nobody inside can tell: have somebody outside miss a call
//
// # What is not promised
//
// A message that a receiver holds for longer than a minute and then takes may come after a newer one: no rule can mend that. Of two text receivers' worth of
// silence nobody hears if the database is away, and exactly the two nodes that tell texts are dead.
//
// # What the caller owes
//
// A [Store] whose statements are one transaction each, with the fence last. A [Teller] that says [Failed] only if the receiver surely has nothing, returns when its
// context ends, and whose errors hold no secret. A lease longer than [Timeout] by its margin and a heartbeat: [DefaultHold]. A [Conditions]
// that gives no data where the samples do not reach back as far as a range. One [Config].Hash for equal files.
package alerts
