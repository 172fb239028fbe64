// Package metric turns the facts that electors report into metrics, each with a scope. No elector
// knows that it is measured.
//
//	m := metric.New(scopes, gate, nil)
//	election.New(election.Config{Events: m.Events(), …})
//	page := metric.Page(m) // for /metrics
//
// One Collector serves any number of electors, as long as no two of them have a role for one scope;
// [Collector.Add] takes the scopes of a reload. Facts about unknown scopes are ignored, so that they
// cannot make the page grow.
//
// # Counters and gauges
//
// Counters and histograms follow the facts. Gauges are computed at each scrape, since their values
// hold only for a time: that this process leads, the age of a heartbeat, the length of a tenure. So
// a process that hangs still shows the truth, and no gauge must be cleared.
//
//	is_leader                 1 while the act door is open, by the gate's own clock:
//	                          the sum over all processes is never above 1
//	leader_epoch              the epoch in which this process leads, 0 while it does not
//	leader_tenure_seconds     since the token arrived, 0 while this process does not lead
//	heartbeat_age_ms          on the leader since its last good heartbeat was sent; on
//	                          a follower since the holder's last one, by its last bid.
//	                          It goes on growing while the database is away
//	acquire_latency_ms        from the first bid that found no other holder to the
//	                          token: the time of the mint, not of other leaders
//	heartbeat_update_ms       the round trip of each heartbeat that succeeded
//	leadership_lost_total     one for each leadership that ended, when its gate shut,
//	                          for whatever reason
//	leader_failovers_total    epochs begun here whose predecessor had not released, or had
//	                          lost the scope before it did; the first ever is none
//	role_failures_total       one for each failure of a role, which gives its scope up: failed,
//	                          or stalled
//	leaderless_seconds        for how long nobody has led a scope that this process wants, by
//	                          its own bids; 0 once a process leads, and while the database is away
//
// [Page] writes the lines of scopes itself, and leaves all others to Prometheus' library: with ten thousand scopes that takes a tenth of
// the time (BenchmarkPage).
//
// [Base] asks the database at each scrape whether it answers, and how many candidates each scope has.
//
// Requirements S17, S30, S31, F7.
//
// # Add a metric
//
//  1. Of a scope: a column of tally or of the gauges, a row of families (TestEveryColumnIsExported), counted in Collector.fact. Look
//     first whether leadership_lost_total{reason} says it already. Of a service: a row of the [Table] in its metrics.go, whose
//     collector is returned by Collectors. Of the node: a collector here ([Build] and [Base] are two), passed to [Page] in package
//     node.
//  2. The prefix is conch_, the label of a scope is scope, new durations are in seconds (_seconds). A known scope exports 0.
//  3. Add a row to docs/metrics.md, then go test ./cmd/conch -run TestEveryMetricIsDocumented, which prints the table as it must be.
//  4. Add the new lines to testdata/*.prom by hand (Prometheus's own comparison has no -update).
//  5. An alert is one of Builtin in service/alerts, with a summary and a severity (TestAlerts refuses one over a metric that nothing
//     exports), and a row in docs/operations.md.
package metric
