// Package board runs a log on some members in this process, each with a file of its own, over a network in memory, for the bench: and
// beside it the bare core of its library, and long logs to open.
package board
