// Package pgstore keeps what fires, who was told, silences and samples in Postgres. Its tables are in the schema conch, beside the leadership whose token
// fences what a leader records.
//
// What a leader records is one round trip and one transaction, with conch.fence last. Nodes report without a leadership: each writes its own row of
// conch.alert_nodes, and its samples to conch.alert_samples.
//
// # Who deletes what
//
//	conch.alert_groups, alert_members, alert_tellings   the leader, when nothing is to be said any more: of a rule that is, after thirty days
//	conch.silences                                      the leader, thirty days after their end
//	conch.alert_nodes                                   the leader, an hour after the last report
//	conch.alert_samples                                 each node its own, when they are older than [alerts.Config].Keep; and any, after a day, of nodes that are no more
package pgstore
