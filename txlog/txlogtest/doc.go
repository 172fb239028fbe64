// Package txlogtest has what an authority and a state machine of a log are tested with, and what their users are tested on:
//
//	Memory             an authority in memory, with terms, a majority and cuts: a toy, for tests alone
//	Judge              watches what authorities tell, and says which promise is broken
//	ExerciseAuthority  the suite that every authority must pass
//	ExerciseState      the suite that every state machine must pass
//	ExerciseLoop       the same for a goal that never ends
//	ExerciseQueries    the same for queries
package txlogtest
