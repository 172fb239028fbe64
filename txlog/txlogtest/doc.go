// Package txlogtest has the suites that every state machine of a log must pass:
//
//	ExerciseState    the same goals give the same state everywhere, and whatever a goal is, the machine stands
//	ExerciseLoop     a goal that never ends is ended
//	ExerciseQueries  the same for queries
package txlogtest

import "github.com/conchhq/conch/txlog"

// leads is the one member of the suites' log.
const leads = "a"

func exercise() txlog.Genesis {
	return txlog.Genesis{Namespace: "exercise", Machine: "test/1", Members: []txlog.Member{{Name: leads, Store: 1}}}.With()
}
