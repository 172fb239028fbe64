// Package txlogtest has what an authority of a log is tested with, and what the users of one are tested on:
//
//	Memory             an authority in memory, with terms, a majority and cuts: a toy, for tests alone
//	Judge              watches what authorities tell, and says which promise is broken
//	ExerciseAuthority  the suite that every authority must pass
package txlogtest
