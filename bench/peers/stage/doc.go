// Package stage does the same to candidates of every kind and writes down what
// they left behind: kills, clean handovers, stops, silent lines.
//
// Nobody is asked who leads. Each candidate appends lines to a file while it
// believes that it leads; whoever wrote last led last. Instants are readings of
// one machine's CLOCK_BOOTTIME.
package stage
