package alerts

import (
	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/tables"
)

// The words of rules and messages.
//
//nolint:revive // one comment for all
type (
	Rule     = core.Rule
	Kind     = core.Kind
	Receiver = core.Receiver
	Result   = core.Result
	Member   = core.Member
	Status   = core.Status
	Message  = core.Message
	Firer    = core.Firer
	Answer   = core.Answer
	Silence  = core.Silence
	Matcher  = core.Matcher
)

// What a receiver does with a message that it is told again.
const (
	Text  = core.Text  // it shows each message to people
	Keyed = core.Keyed // it makes one incident of all messages with one key, and closes it
	Level = core.Level // it forgets what is not told again
)

// What a message tells of its group.
const (
	Firing   = core.Firing   // at least one member fires
	Resolved = core.Resolved // none fires any more
	Passed   = core.Passed   // it fired and ended before a text receiver could be told
)

// What became of a message.
const (
	Taken   = core.Taken   // the receiver has it
	Refused = core.Refused // it does not want it as it is (4xx)
	Failed  = core.Failed  // it surely has not got it
	Doubted = core.Doubted // nobody knows
)

// Rules that are judged here: see package core. They are told if the configuration has a rule of that name.
const (
	NoDataRule = core.NoDataRule // a member for each rule without data that once had some, or that could not be evaluated: label rule
	DifferRule = core.DifferRule // a member for each node whose rules are not those of the leader: label node
	AwayRule   = core.AwayRule   // a node cannot ask the database
	IdleRule   = core.IdleRule   // nobody evaluates
)

// What a [Store] keeps.
//
//nolint:revive // one comment for all
type (
	Loaded     = core.Loaded
	Looked     = core.Looked
	Rows       = core.Rows
	Group      = core.Group
	Standing   = core.Standing
	Telling    = core.Telling
	Evaluation = core.Evaluation
	Failing    = core.Trouble
	Node       = core.Node
)

// What a [Post] takes and gives.
//
//nolint:revive // one comment for all
type (
	Report   = tables.Report
	Reported = tables.Reported
	Sample   = tables.Sample
)

// Event is something that has happened: [Changed], [Told], [NotTold], [Differ] or [Trouble].
type Event any

// The events.
//
//nolint:revive // each has its own
type (
	Changed = core.Changed // a group has something to say
	Told    = core.Told    // a receiver has a message
	NotTold = core.NotTold // a receiver has not got one, or nobody knows
	Differ  = core.Differ  // nodes have other rules than the leader
)

// Key names a group to its receivers: conch/CLUSTER/RULE/HASH(labels).
func Key(cluster, rule string, labels map[string]string) string {
	return core.Key(cluster, rule, labels)
}
