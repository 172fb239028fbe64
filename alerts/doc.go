// Package alerts decides what fires and which receiver is told, in one process of several. It knows a gate and nothing of elections.
package alerts
