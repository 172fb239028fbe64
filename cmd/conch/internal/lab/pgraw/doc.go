// Package pgraw is what Postgres does without conch: a session that holds a plain
// advisory lock, another that waits for it, transactions with and without a
// fence, and counts of what a server was asked. It measures nothing itself;
// package bench puts its own figures beside these.
package pgraw
