// Package stage has what experiments with real processes share. A Site is what they stand on: private servers, and all else that
// is cleared in the end (Clearing). A Cast has their players, each a name with one process after another: killed, stopped, started
// again, and ended with the experiment in any case. A Deck deals the faults of a plan, those that a seed says.
//
// What the players do, who is struck and when, and the verdict are the experiment's own.
package stage
