package core

import (
	"time"

	"github.com/conchhq/conch/schedule/zone"
)

// What is done about times that were missed.
const (
	None   = "none"   // they are passed over
	Latest = "latest" // the last of them is run, unless another one is just due
	All    = "all"    // the last [Definition.Limit] are run
)

// What is done when a scheduled time comes while the job of an earlier one has not ended.
const (
	Skip  = "skip"  // it gets no job
	Queue = "queue" // its job waits, as one of at most [Definition.Waits]
	Allow = "allow" // both jobs are run
)

// Definition is what a cron does, and when.
type Definition struct {
	Name     string
	Schedule string // five or six fields, or a word: see package zone
	Timezone string // of the IANA database
	Command  []string
	HTTP     string        // the address of an endpoint
	Job      string        // the name of a handler
	Args     string        // JSON, for the handler
	CatchUp  string        // None, Latest or All
	Limit    int           // how many missed times are run at most, with All
	Late     time.Duration // how long after its time a time is not missed yet
	Overlap  string        // Skip, Queue or Allow
	Waits    int           // how many jobs wait at most, with Queue
	Jitter   time.Duration // a job begins up to so much later, so that not all begin at once
	Timeout  time.Duration // of a job
	Retries  int           // how often a job that has failed is tried again
	Queue    string        // where its jobs wait for a worker
	Priority int           // of its jobs, 0 the most urgent to 3
	Fenced   bool          // its handler refuses a stale token itself
	Paused   bool          // nothing is due
}

// Revision is one definition of a cron. It is never changed; another one takes its place.
type Revision struct {
	N int // from 1 on
	Definition
	Since   time.Time // by the database's clock
	Retired bool      // the cron is no more
}

// Cursor is up to where the times of a cron are settled.
type Cursor struct {
	At   time.Time
	Wall time.Time // of the last time, as in [zone.Occurrence]
}

// Position is where a cron stands.
type Position struct {
	Cursor  Cursor
	Adopted int // the revision that is in force; 0: none yet
	Newest  int // the revision that was written last
}

// Cron is a cron as it is stored.
type Cron struct {
	ID   int64 // never given to another cron
	Name string
	Position
	Floor     time.Time  // rows up to here were deleted: the cursor never goes below
	Revisions []Revision // from the adopted one on
}

// Run is one scheduled time that gets a row.
type Run struct {
	zone.Occurrence
	Revision int
	Begins   time.Time // when its job may begin
}

// Gap is scheduled times that are passed over.
type Gap struct {
	From, To time.Time // the first one, and the last one
	Count    int       // [MostCounted] stands for more, too
	Why      string
}

// Why times are passed over.
const (
	WhyLate   = "late"   // they were missed
	WhyLimit  = "limit"  // more were missed than are caught up with
	WhyPaused = "paused" // the cron was paused
	// WhyRestored: they were missed before the rows of a backup were found, which do not say what had been run.
	WhyRestored = "restored"
	// WhyUnreadable: the leader could not read the schedule, so that nobody knows how many.
	WhyUnreadable = "unreadable"
)

// Move is what one cron does in a write.
type Move struct {
	Cron  int64
	Was   Position // it is carried out only if the cron still stands there
	To    Cursor
	Runs  []Run
	Gap   *Gap
	Adopt int       // the revision that is adopted then; 0: none
	Since time.Time // of that revision
}

// Prune says that rows of a cron up to an instant are deleted, which becomes its floor.
type Prune struct {
	Cron int64
	Upto time.Time
}
