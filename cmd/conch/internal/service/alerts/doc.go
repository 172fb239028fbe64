// Package alerts is the service of [alerting] and [[alerts]]: which alerts a cluster has, what is wrong with them, and what a node tells of
// itself for them. Package condition evaluates them.
//
// # What there is
//
// The built-in alerts (builtin.go) are those of deploy/alerts.yaml, which conch alerts export prints for a Prometheus. [[alerts]] of the file
// are added to them. One with the name of a built-in alert, and without a condition, changes that one's settings.
//
// # Who is told
//
// An alert without notify is told to all receivers, one with an empty notify to nobody: it is on the page alone.
//
// # Labels and annotations
//
// Labels of the file are told with an alert and make no other alert of it: what an alert is, its rule and the labels of its members say. So
// they are plain texts; annotations are templates as in Prometheus.
package alerts
