// Package electiontest tests mints and electors: [Exercise] is the suite that every mint must pass, and [Memory] is a mint in memory,
// for the tests of a service that elects. [Simulator] runs electors in a world of faults, for the laboratory.
//
// The rows of a [Memory] are a pure model of a mint, which keeps every rule that the mint over Postgres keeps. The simulated world has the
// same model, and breaks its rules one by one to show what each is for.
package electiontest
