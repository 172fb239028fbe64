package worker

import (
	"time"

	"github.com/conchhq/conch/internal/splitmix"
)

// Key names an attempt. No two attempts have the same one.
type Key struct {
	ID      int64 // of the job
	Attempt int   // from 1 on
}

// Job is an attempt that was taken.
type Job struct {
	Key
	Queue         string
	Due           time.Time // since when it could begin, by the database's clock; later for those of a lower priority
	Handler       []byte    // JSON: {"job": name}, {"command": […]} or {"http": address}
	Args          []byte    // JSON
	Timeout       time.Duration
	Cron          string    // that has made it, or empty
	At            time.Time // its scheduled time
	Scope         string    // of the leader that has added it
	Epoch         int64
	Fenced        bool // its handler proves the attempt: another one may begin before this one has stopped
	MaybeRepeated bool // the database has failed over, or was restored, since the job was due or added: it may have been done
}

// The kinds of handlers, each by the key under which [Job.Handler] has what is called.
const (
	KindJob     = "job"     // a function of a program, by its name
	KindCommand = "command" // with its arguments
	KindHTTP    = "http"    // an address
)

// The outcomes of an attempt.
const (
	Done      = "done"
	Failed    = "failed"    // the job is tried again, unless that was the last one
	Dead      = "dead"      // it failed, and no other attempt is of use
	Later     = "later"     // it is tried again, and this attempt does not count
	Lost      = "lost"      // its worker is gone
	Released  = "released"  // its worker has stopped it for reasons of its own, or never begun it; it does not count
	Cancelled = "cancelled" // somebody has wanted that
)

// End is how an attempt has ended.
type End struct {
	Key
	Outcome string
	Error   string
	Result  []byte        // JSON, or nothing
	Pause   time.Duration // before the next one
}

// Held is an attempt that the database has as taken under a post.
type Held struct {
	Key
	Epoch  int64 // in which it was taken
	Fenced bool  // its handler proves it
	Cancel bool  // somebody wants it to end
}

const (
	firstPause = time.Second
	mostPause  = 10 * time.Minute
)

// pause is how long a job rests after so many attempts: longer each time, and never the same for two jobs, which would come back together.
func pause(k Key, attempts int) time.Duration {
	if attempts == 0 {
		return 0
	}
	d := min(firstPause<<min(attempts-1, 20), mostPause)
	return d/2 + time.Duration(splitmix.Mix(uint64(k.ID), uint64(k.Attempt))%uint64(d/2))
}
