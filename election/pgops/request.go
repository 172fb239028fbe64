package pgops

import "time"

// Request is what an operator asks of the leader of a scope: to drain or to transfer it.
type Request struct {
	Scope   string
	Epoch   int64         // the only term to give up; 0: the present one
	To      string        // the candidate to transfer the scope to; empty: a drain, any candidate may lead next
	Actor   string        // the operator, as the history names them
	Timeout time.Duration // for acts to end; 0: the leader's own drain timeout
}

// requestChannel announces changes of conch.command, as id:state.
const requestChannel = "conch_command"

const (
	requestPoll = 2 * time.Second // repairs a lost notification
	// warmPatience is how long the leader waits for the successor of a transfer to be ready.
	warmPatience = 2 * time.Second
	// takePatience is how long Ask waits for a leader to take a request: time to warm a
	// successor, and to poll twice.
	takePatience = warmPatience + 2*requestPoll
	// resultPatience is how long Ask waits for the result once the leader is done, or gone.
	resultPatience = 2 * requestPoll
	// orphanAge is the age at which an open request has lost its Ask, which would have withdrawn it.
	orphanAge = 2 * takePatience
)

// timedOut is the result of a request whose acts did not end in time.
const timedOut = "given up, but acts had not ended in time: the successor waits as after a crash"

// openRequest is a row of conch.command that no leader has taken.
type openRequest struct {
	ID        int64
	Scope     string
	Epoch     int64
	Verb      string // drain or transfer
	ToID      string
	Actor     string
	TimeoutMS int64
	State     string // asked or warm
	AgeMS     int64
}

func (r openRequest) age() time.Duration { return time.Duration(r.AgeMS) * time.Millisecond }

func (r openRequest) waitsForSuccessor() bool {
	return r.Verb == "transfer" && r.State == "asked" && r.age() < warmPatience
}

// ageMS is how far a request is from now by the database's clock, which may have been set back.
const ageMS = `(abs(extract(epoch FROM clock_timestamp() - at)) OPERATOR(pg_catalog.*) 1000)::bigint`

const openSQL = `SELECT id, scope, epoch, verb, to_id, actor, timeout_ms, state, ` + ageMS + `
  FROM conch.command WHERE state IN ('asked', 'warm') AND scope = ANY ($1) ORDER BY id`

// takeSQL checks the age again: this process may have slept since it read the request.
const takeSQL = `UPDATE conch.command SET state = 'taken'
 WHERE id = $1 AND state IN ('asked', 'warm') AND ` + ageMS + ` <= $2`
