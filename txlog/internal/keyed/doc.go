// Package keyed keeps keys and values for a state machine of a log: what package kv and package prolog have in common. A Store has the hash, the
// snapshot, the readings and the check of what was there before, which a [txlog.State] needs; its owner says what a key and a value are, runs
// goals on a Draft, and answers queries from a View.
//
// A Store and its Drafts are used by one goroutine. A View never changes, and any goroutine may read it.
package keyed
