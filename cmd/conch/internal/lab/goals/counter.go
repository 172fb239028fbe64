package goals

import (
	"encoding/json"
	"strconv"
)

// Counter is how a log counts: a goal that adds one, and a query that says how many there were.
type Counter struct {
	Goal json.RawMessage

	query string
	value func(answer json.RawMessage) (uint64, error)
}

// Keys counts in a log of keys and values.
var Keys = Counter{
	json.RawMessage(`{"op":"add","key":"demo/goals"}`), `{"get":"demo/goals"}`,
	func(answer json.RawMessage) (uint64, error) {
		var a struct{ Value uint64 }
		return a.Value, json.Unmarshal(answer, &a)
	},
}

// Clauses counts in a log of Prolog: each goal takes the fact out, and puts another one in.
var Clauses = Counter{
	json.RawMessage(`"(retract(goals(N)) -> true ; N = 0), M is N + 1, assertz(goals(M))"`), `{"goal":"catch(goals(N), _, fail)"}`,
	func(answer json.RawMessage) (uint64, error) {
		var a struct{ Solutions []struct{ N string } }
		if err := json.Unmarshal(answer, &a); err != nil || len(a.Solutions) == 0 {
			return 0, err
		}
		return strconv.ParseUint(a.Solutions[0].N, 10, 64)
	},
}
