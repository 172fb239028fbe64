package config

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// places know where each value comes from. They are for messages only.
type places struct {
	file  string
	lines map[string]int    // of each key, under the name by which faults speak of it: roles[1].lease
	last  int               // line of the file: what is missing belongs after it
	said  map[string]string // keys for which a flag or a variable has spoken, and its name
}

// fault is one of a place: of whatever has spoken for it, else of its line, else of that of
// what it is inside of.
func (p places) fault(place, text string) Fault {
	if name := p.said[place]; name != "" {
		return Fault{Key: name, Text: text}
	}
	line := p.last
	for at := place; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if p.lines[at] > 0 {
			line = p.lines[at]
			break
		}
	}
	return Fault{Line: line, Key: place, Text: text}
}

// Read tells whether there was a file that could be read, be there faults in it or not.
func (c Config) Read() bool { return c.places.lines != nil }

// Fault is one that was found in a configuration after it was read.
func (c Config) Fault(key, text string) Fault { return c.places.fault(key, text) }

// Faults is the error of some that were found then; nil if there are none.
func (c Config) Faults(list []Fault) error {
	if len(list) == 0 {
		return nil
	}
	return &FaultsError{File: c.places.file, List: InOrder(list)}
}

// linesOf finds the line of each key of a file; one that it cannot read has none.
func linesOf(text []byte) map[string]int {
	lines := map[string]int{}
	count := map[string]int{} // of the elements of each [[table]] so far
	table := ""
	p := unstable.Parser{}
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			table, _ = note(&p, e.Key(), "", lines)
		case unstable.ArrayTable:
			name, line := note(&p, e.Key(), "", lines)
			table = name + "[" + strconv.Itoa(count[name]) + "]"
			count[name]++
			lines[table] = line
		case unstable.KeyValue:
			note(&p, e.Key(), table, lines)
		default:
		}
	}
	return lines
}

// note writes down the line of a key and of every part of it on the way.
func note(p *unstable.Parser, key unstable.Iterator, name string, lines map[string]int) (full string, line int) {
	for key.Next() {
		part := key.Node()
		name = Under(name, string(part.Data))
		line = p.Shape(part.Raw).Start.Line
		if lines[name] == 0 {
			lines[name] = line
		}
	}
	return name, line
}

// Under is the full name of a key of a table.
func Under(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}
