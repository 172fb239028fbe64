package core

import "time"

// Rule is what the evaluator knows of one alert: when its members fire, and to which receivers they are told. What the condition says is the
// business of the one that evaluates it; its text, of the one that writes messages: never text decides what has changed.
type Rule struct {
	Name     string        // unique in the cluster
	Severity string        // as the user wrote it: "page", "critical", "warning", …
	For      time.Duration // how long a member must be true before it fires; 0: at once
	Keep     time.Duration // keep_firing_for: how long it fires on after it is no longer true
	GroupBy  []string      // labels that make a group of members; none: one group for the whole rule
	Notify   []string      // names of receivers
	Hash     string        // of condition and settings, so that two nodes can compare what they have
}

// Kind says what a receiver does with a message that it is told again.
type Kind uint8

const (
	// Text receivers show each message to people: Slack, e-mail. A message may come twice, and no more, if its sender was killed between sending and
	// noting, or had no answer.
	Text Kind = iota
	// Keyed receivers make one incident of all messages with one key, and close it: PagerDuty, a webhook that looks at the key.
	Keyed
	// Level receivers forget what is not told again: Alertmanager. What fires is told each minute.
	Level
)

// Receiver is one place that is told.
type Receiver struct {
	Name string
	Kind Kind
}

// Result is what one rule's condition has given at one instant.
type Result struct {
	Rule    string
	NoData  bool     // nothing was selected, or the data do not reach back as far as a range: the members are not known, and nothing resolves
	Fault   string   // why the condition could not be evaluated; "" if it was
	Members []Member // of each label set for which the condition is true; none: the condition is false
}

// Member is one label set for which a condition is true.
type Member struct {
	Labels map[string]string
	Value  float64
}

// Status says what a message tells of its group.
type Status uint8

const (
	// Firing: at least one member fires.
	Firing Status = iota + 1
	// Resolved: none fires any more.
	Resolved
	// Passed: it fired and ended before a text receiver could be told; one line says so.
	Passed
)

// Message is what one receiver is told of one group.
type Message struct {
	Key      string            // conch/CLUSTER/RULE/HASH(group's labels), and holds nothing else
	Seq      uint64            // rises with each message of a group
	Rule     string            // name of the rule
	Severity string            // of the rule
	Status   Status            // what is told
	Group    map[string]string // the labels that make the group
	Members  []Firer           // at most ten of those that fire, or have fired if the status is not Firing
	Others   int               // how many more there are
	Since    time.Time         // when the first of them began to fire
	Until    time.Time         // when the last of them ended; zero while it fires
	Silence  string            // the silence whose end lets this be told; "" if there was none
}

// Firer is a member that fires, with its last value and when it began.
type Firer struct {
	Labels map[string]string
	Value  float64
	Since  time.Time
}

// Answer is what became of one message.
type Answer uint8

const (
	// Taken: the receiver has it.
	Taken Answer = iota + 1
	// Refused: the receiver says that it does not want it as it is (4xx). It is tried again each five minutes, since a person may mend the file.
	Refused
	// Failed: the receiver has not got it, surely (no connection, 5xx with nothing taken). It is tried again with a growing pause up to a minute.
	Failed
	// Doubted: nobody knows whether the receiver has it (a time-out, a connection that broke after the request had left).
	Doubted
)

// Rules that the evaluator, or a node that watches it, judges itself. They are told as any other rule if the configuration has one of that name.
const (
	// NoDataRule has a member for each rule that could not be evaluated, or selects nothing and once did: label rule.
	NoDataRule = "conch_alert_no_data"
	// DifferRule has a member for each node whose rules are not those of the leader: label node.
	DifferRule = "conch_alerts_differ"
	// AwayRule: a node cannot ask the database. The nodes tell it, and the leader alone resolves it.
	AwayRule = "conch_database_away"
	// IdleRule: nobody evaluates. One node tells it, and the leader resolves it.
	IdleRule = "conch_alerts_idle"
)

// Silence keeps members from being told for a time. It changes nothing about what fires.
type Silence struct {
	ID       string
	Matchers []Matcher // all of them must match
	Since    time.Time
	Until    time.Time
	By       string // who has set it
	Comment  string
}

// Matcher compares one label of a member, of which alertname is the rule and severity that of the rule.
type Matcher struct {
	Label string `json:"label"`
	Op    string `json:"op"` // =, !=, =~ or !~, as in a selector of PromQL
	Value string `json:"value"`
}
