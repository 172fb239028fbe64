// Package stage injects the same faults into candidates of every peer and records the results: kills,
// clean handovers, stops, silent lines.
//
// It asks nobody who leads. Each candidate appends lines to a file while it believes that it leads, so
// the last line shows the last leader. Instants are readings of one machine's CLOCK_BOOTTIME.
package stage
