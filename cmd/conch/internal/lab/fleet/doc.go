// Package fleet runs processes that die with the process that started them: workers (package
// worker), whose reports it reads, and the programs beside them.
package fleet
