// Package fleet runs processes that die with whoever started them: nodes (package
// worker), of which it hears what they report, and what stands beside them.
package fleet
