// Package pgraw does in Postgres what package bench compares conch with: it holds a plain
// advisory lock and waits for it, runs transactions with and without a fence, and counts the
// statements of a server. It measures nothing itself.
package pgraw
