// Package follower keeps a node's copy of a log up to date, verified entry by entry, and gives its history to others.
package follower
