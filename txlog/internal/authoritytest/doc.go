// Package authoritytest has what an authority of a log is tested with:
//
//	Memory    an authority in memory, with terms, a majority and cuts: a toy, for tests alone
//	Judge     watches what authorities tell, and says which promise is broken
//	Exercise  the suite that every authority must pass
package authoritytest
