package schedule

import (
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// Cron is what is done, and when. It has a Name, a Schedule and its Timezone; one of Command, HTTP and Job, with Args in JSON; CatchUp with
// Limit and Late, Overlap with Waits; Jitter, Timeout, Retries, Queue, Priority, Fenced and Paused. Retries that are not set are
// [DefaultRetries], and without any, by [NoRetries], a job that is lost with its worker is dead. Its page, docs/schedule.md, says what they are, and `go doc
// github.com/conchhq/conch/schedule/internal/core.Definition` in a line each.
type Cron = core.Definition

// What is done about times that were missed: [Cron].CatchUp.
const (
	None   = core.None   // they are passed over
	Latest = core.Latest // the last one is run, unless another one is just due
	All    = core.All    // the last ones are run, as many as Limit says
)

// What is done when a time comes while the job of an earlier one has not ended: [Cron].Overlap.
const (
	Skip  = core.Skip  // it gets no job
	Queue = core.Queue // its job waits
	Allow = core.Allow // both jobs are run
)

// Skipped is how a time ends while the job of an earlier one goes on.
const Skipped = core.Skipped

// Outcomes lists what becomes of a time that has its row.
func Outcomes() []string { return []string{core.Enqueued, core.Skipped, core.Existing} }

// Ends lists how attempts end.
func Ends() []string {
	return []string{worker.Done, worker.Failed, worker.Dead, worker.Later, worker.Lost, worker.Released, worker.Cancelled}
}

// Reasons lists why times are passed over.
func Reasons() []string {
	return []string{core.WhyLate, core.WhyLimit, core.WhyPaused, core.WhyRestored, core.WhyUnreadable}
}

// What a [Store] reads and writes.
//
//nolint:revive // one comment for all
type (
	File    = core.File
	Run     = core.Run
	Gap     = core.Gap
	Read    = core.Read
	Loaded  = core.Loaded
	Write   = core.Write
	Written = core.Written
)

// What [Jobs] read and write. A Job is what a handler sees of one: its Key (ID and Attempt), Queue, Due, Handler and Args in JSON, Timeout,
// and of a cron's the Cron and the scheduled time At, with the Scope and Epoch of the leader that has added it.
//
//nolint:revive // one comment for all
type (
	Key   = worker.Key
	Job   = worker.Job
	End   = worker.End
	Held  = worker.Held
	Take  = worker.Take
	Taken = worker.Taken
	Told  = worker.Told
)

// Event is something that has happened: [Ran], [PassedOver], [ClockBack], [Unreadable], [AttemptEnded] or [Trouble].
type Event any

// The events.
//
//nolint:revive // each has its own
type (
	Ran        = core.Ran        // a time has its row
	PassedOver = core.PassedOver // times are not run
	ClockBack  = core.ClockBack  // the database's clock was set back
	Unreadable = core.Unreadable // this node cannot read a schedule
)

// AttemptEnded says that an attempt at a job has ended, or is over.
type AttemptEnded struct {
	End
	Post    string // of the worker that tells it
	Refused bool   // it was over before: this end counts for nothing
}
