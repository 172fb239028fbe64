// Package condition evaluates what alerts ask for: PromQL over the samples of all nodes of a cluster, without a Prometheus. It knows no
// alert, no receiver and no database.
//
//	c, err := condition.Parse(`sum(conch_is_leader{scope="a"}) == 0`)
//	w := condition.NewWindow(15*time.Second, condition.Needs(all...))
//	err = w.TakeRow(condition.Row{Node: "n1", Seq: 7, Body: body}, now)
//	w.EndRound(now)
//	result := w.Evaluate(ctx, c, now)
//
// # What a scrape adds
//
// A Prometheus gives each series the labels of its target, and counts it in the metric up. Here a series has the label instance, which is
// the name of its node, and up{instance} is 1 while that node's row moves on, else 0. Other labels of a scrape (job, those of Kubernetes) are
// missing, and count as empty in on(…) and by(…).
//
// # Freshness
//
// A node is there while the sequence of its row moves on. The caller stamps what has moved by a clock of its own, so that no two clocks are
// compared. A node whose row has stood still for two intervals is gone: all its series end with a stale marker, as a Prometheus writes one, and
// its last values count no more. (With the engine's usual look-back alone they would count for five minutes: a dead leader's last 1 would hide
// that nobody leads.)
//
// # No data
//
// A condition that gives nothing may be false, or may have had nothing to judge. [Window.Evaluate] tells the two apart: see [Result].
package condition
