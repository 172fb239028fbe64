// Package worker decides what a worker does while it leads its post: which jobs it takes, when their handlers begin and have to stop, and
// what becomes of attempts. It is pure: [Machine.Step] takes the time and an input, and returns what is to be done.
//
// An attempt is a job and a number, and begins when the job is taken. The one that leads a post is answerable for all that was taken
// under it: attempts of earlier epochs are lost, and it gives them back; at once if their handlers prove their attempts themselves, else when
// the act door of its gate is open, since only then the one before has stopped. What was taken in its own epoch without an answer it gives back too.
// So whether a worker is dead is what the election says, never how long an attempt has taken.
package worker
