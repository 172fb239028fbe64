package config

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong and where.
type Fault struct {
	Line int    `json:"line,omitempty"` // of the file; 0 if it is not in the file
	Key  string `json:"key,omitempty"`  // such as roles[1].lease
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

// FaultsError is everything that is wrong with a configuration.
type FaultsError struct {
	File string
	List []Fault
}

// Error puts each fault on a line of its own, with the name of the file.
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
