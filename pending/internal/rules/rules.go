// Package rules has what a store of transactions and the machine agree on about intents that wait for a slot.
package rules

import "time"

const (
	// SavesAfter is how long an intent waits for money until it may save. In relaxed order the money is one intent's for a
	// sixth of the time: the oldest that has waited for SavesAfter has the next SavesAfter of each hour to itself. Without
	// that, small ones spend what comes in for ever; if it had more, one that can never be paid would stop all.
	SavesAfter = 10 * time.Minute

	// PoorAfter is how long an intent waits for money before it counts as poor.
	PoorAfter = time.Minute

	// LongestPause is the longest time for which others pass an intent. What a store has put off until later than that, its
	// clock was ahead when it did, and the intent is due.
	LongestPause = time.Minute

	// NoWords is the reason stored for a rejected intent for which the chain gave no reason.
	NoWords = "the chain refuses its call"
)
