package goals

import "time"

// Record is what was seen of a log. Times are since the beginning of the experiment, by its clock.
type Record struct {
	Goals    []Goal  // in the order of their times
	Entries  []Entry // as they were read
	Kills    []time.Duration
	Wiped    []Start // members whose stores were deleted: until they decided again, with another store
	Joined   []Start // nodes that came from nothing: until they had all that was there
	Counts   []Count // linearizable reads of the counter in the end, one at each node
	Compared Compared
}

// Goal is one that a client has asked for.
type Goal struct {
	ID      string
	At      time.Duration // when it was asked for first
	Answers []Answer
	Refused string // why a node said that it never will be done
}

// Answer is the acknowledgement of a goal by a node.
type Answer struct {
	From  string
	At    time.Duration
	Index uint64
	Hash  string // of the entry
	Fault string // why it has failed
}

// Entry is one entry of the log, as a node has it.
type Entry struct {
	From   string `json:"-"`
	Index  uint64 `json:"index"`
	Term   uint64 `json:"term"`
	Hash   string `json:"hash"`
	Prev   string `json:"prev"` // the hash of the entry before
	Leader string `json:"leader"`
	GoalID string `json:"goal_id"`
	Fault  string `json:"fault"`
}

// Start is the start of a node that had to catch up.
type Start struct {
	Node string
	Took time.Duration // 0: it never did
}

// Count is a linearizable read of the counter.
type Count struct {
	Node  string
	Value uint64
}

// Compared is what "conch log verify" said in the end.
type Compared struct {
	Copies int
	Index  uint64
	Hash   string // of the entry at that index
	Fault  string // why they are not equal, or were not compared
}
