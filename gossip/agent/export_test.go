package agent

import (
	"strconv"
	"strings"
)

// The lines that an agent opens.
const (
	LineGossip = lineGossip
	LineSpray  = lineSpray
)

// NewAt is New with a wall clock that a test has set.
var NewAt = newAt

// Incarnate is incarnate.
var Incarnate = incarnate

// ReadNumber reads the text of a state file.
func ReadNumber(text string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n
}
