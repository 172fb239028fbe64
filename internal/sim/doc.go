// Package sim runs an election in a deterministic world.
package sim
