package config

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a fault of a configuration, and its place.
type Fault struct {
	Line int    `json:"line,omitempty"` // 0: the file has neither the key nor its table
	Key  string `json:"key,omitempty"`  // such as roles[1].lease, or the flag or variable that set it
	Text string `json:"text"`
}

func (f Fault) String() string {
	switch {
	case f.Line > 0 && f.Key != "":
		return fmt.Sprintf("line %d, %s: %s", f.Line, f.Key, f.Text)
	case f.Line > 0:
		return fmt.Sprintf("line %d: %s", f.Line, f.Text)
	case f.Key != "":
		return f.Key + ": " + f.Text
	}
	return f.Text
}

// InOrder sorts faults by line; those without a line come last.
func InOrder(list []Fault) []Fault {
	slices.SortStableFunc(list, func(a, b Fault) int {
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		return a.Line - b.Line
	})
	return list
}

// FaultsError lists all faults of a configuration.
type FaultsError struct {
	File string
	List []Fault
}

// Error returns a line for each fault, with the name of the file.
func (e *FaultsError) Error() string {
	lines := make([]string, 0, len(e.List))
	for _, f := range e.List {
		if e.File == "" {
			lines = append(lines, f.String())
			continue
		}
		lines = append(lines, e.File+": "+f.String())
	}
	return strings.Join(lines, "\n")
}
