// Package mint is what an elector asks of the store that makes leaders: the contract between package election and a [Mint].
//
// A program that elects imports package election, and election/pgmint for the mint over
// Postgres. It needs this package only for the results of bids in election.Events, and to name a [Takeover] other than [Strict]. All of
// it is for the author of another mint.
//
// election/electiontest has a mint in memory, and the suite that every mint must pass.
package mint
