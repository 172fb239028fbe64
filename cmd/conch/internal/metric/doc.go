// Package metric turns what electors tell into the metrics of conch, all of them
// with a scope. It reads facts as values; no elector knows that it is measured.
//
//	m := metric.New(scopes, gate, nil)
//	election.New(election.Config{Events: m.Events(), …})
//	page := metric.Page(m) // for /metrics
//
// One Collector serves any number of electors, as long as no two of them have a
// role for one scope; [Collector.Add] takes the scopes that a reload brings. Facts of
// scopes that it does not know are passed over, so that nobody can make the page grow.
//
// # What is told and what is asked
//
// Counters and histograms follow the facts. Whatever is true only until a moment,
// that this process leads, how old a heartbeat is, how long a tenure has lasted,
// is worked out when the page is asked for: a process that hangs shows the truth
// in the page that it still serves, and no gauge waits for somebody to clear it.
//
//	is_leader                 1 while the act door is open, by the gate's own clock:
//	                          the sum over all processes is never above 1
//	leader_epoch              the epoch that is led here, 0 while none is
//	leader_tenure_seconds     since the token was minted, 0 while none is held
//	heartbeat_age_ms          on the leader since its last good heartbeat was sent; on
//	                          a follower since the holder's last one, as the last bid
//	                          found it. It goes on growing when the database is away
//	acquire_latency_ms        from the first bid that found no other holder to the
//	                          token: what the mint took, not how long others led
//	heartbeat_update_ms       the round trip of each heartbeat that succeeded
//	leadership_lost_total     one for each leadership that ended, when its gate shut,
//	                          whoever wanted it: see the reasons
//	leader_failovers_total    epochs begun here whose predecessor had not released, or had
//	                          lost the scope before it did; the first ever is none
//	role_failures_total       one for each failure of a role, for which its scope was given
//	                          up: failed, or stalled
//	leaderless_seconds        for how long nobody has led a scope that this process wants,
//	                          as its own bids tell; 0 once somebody does, and while nobody
//	                          can know since the database is away
//
// What the database knows, [Base] asks when the page is asked for: whether it answers, and
// how many candidates each scope has.
//
// Requirements S17, S30, S31, F7.
package metric
