package core

import (
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Kind says what a [Fact] reports. Package election says what each kind means.
type Kind string

// The kinds of facts. They have no type, so that package election gives them its own.
const (
	Following = "following"
	Stale     = "stale"
	Blocked   = "blocked"
	Evicted   = "evicted"
	Unled     = "unled"
	Acquired  = "acquired"
	Entered   = "entered"
	Late      = "late"
	Resumed   = "resumed"
	Failing   = "failed"
	Draining  = "draining"
	Lost      = "lost"
	Released  = "released"
	Abandoned = "abandoned"
	Unsaid    = "unsaid"
	Barred    = "barred"
	Retrying  = "retrying"
	Cautioned = "cautioned"
)

// Fact is one event of an election, as package election describes it.
type Fact struct {
	Kind     Kind
	Scope    string
	Token    fence.Token
	Holder   string
	Hold     time.Duration
	Handoff  bool
	Took     time.Duration
	After    time.Duration
	Err      error
	Blockers []mint.Blocker
}
