// Package alerts is the service of [alerting] and [[alerts]]: which alerts a cluster has, what is wrong with them, what a node tells of itself for
// them, and the leader that evaluates and tells them. Package condition evaluates them, package receiver tells them, and package alerts of the root
// decides what is told.
//
// # Who evaluates
//
// A file with [alerting], [[alerts]] or [[notify]] has the role conch:alerts (lead.go). Each node reports what it measures, leading or not. A file
// that is read again is another setup (setup.go), with which the leader goes on within its term. A node without a database keeps all in memory, and
// evaluates the alerts with each_node alone, under keys with its name.
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
