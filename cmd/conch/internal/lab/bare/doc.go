// Package bare runs members of the library's core alone, on the same kind of files and the same transport as a log of this module:
// no state machine, no record, no hash, no head, no look. It is the ceiling beside which `conch-lab bench log` measures a log, and
// of no other use: what it decides on is not read by anybody.
package bare
