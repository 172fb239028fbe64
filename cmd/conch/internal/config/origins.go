package config

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// origins records where each value comes from, for messages.
type origins struct {
	file  string
	lines map[string]int    // by the full name of a key, such as roles[1].lease
	said  map[string]string // by key: the flag or variable that set it
}

// fault returns a fault with the flag or variable that set the key, or else with the line of
// the key or of the table around it. What the file lacks altogether has no line.
func (o origins) fault(place, text string) Fault {
	if name := o.said[place]; name != "" {
		return Fault{Key: name, Text: text}
	}
	line := 0
	for at := place; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if o.lines[at] > 0 {
			line = o.lines[at]
			break
		}
	}
	return Fault{Line: line, Key: place, Text: text}
}

// Read reports whether the file could be read, with or without faults.
func (c Config) Read() bool { return c.origins.lines != nil }

// Fault returns a fault, found after Load, with the place of its key.
func (c Config) Fault(key, text string) Fault { return c.origins.fault(key, text) }

// Faults returns faults as an error; nil if there are none.
func (c Config) Faults(list []Fault) error {
	if len(list) == 0 {
		return nil
	}
	return &FaultsError{File: c.origins.file, List: InOrder(list)}
}

// linesOf returns the line of each key, up to the first one that it cannot parse.
func linesOf(text []byte) map[string]int {
	lines := map[string]int{}
	count := map[string]int{} // of the elements of each [[table]] so far
	table := ""
	p := ruler{text: text, line: 1}
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			table, _ = p.note(e.Key(), "", lines)
		case unstable.ArrayTable:
			name, line := p.note(e.Key(), "", lines)
			table = name + "[" + strconv.Itoa(count[name]) + "]"
			count[name]++
			lines[table] = line
		case unstable.KeyValue:
			p.note(e.Key(), table, lines)
		default:
		}
	}
	return lines
}

// ruler is a parser that knows the line of what it has come to. The parser's own function counts each time from the beginning.
type ruler struct {
	unstable.Parser
	text     []byte
	at, line int // up to where lines are counted, and the line there
}

func (p *ruler) lineAt(offset int) int {
	p.line += bytes.Count(p.text[p.at:max(p.at, offset)], []byte("\n"))
	p.at = max(p.at, offset)
	return p.line
}

// note records the line of a key and of each prefix of it.
func (p *ruler) note(key unstable.Iterator, name string, lines map[string]int) (full string, line int) {
	for key.Next() {
		part := key.Node()
		name = Under(name, string(part.Data))
		line = p.lineAt(int(part.Raw.Offset))
		if lines[name] == 0 {
			lines[name] = line
		}
	}
	return name, line
}

// Under returns the full name of a table's key.
func Under(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// Origin says where the value of a key comes from: a line of the file, the flag or the variable that set it, or else the default.
func (c Config) Origin(key string) string {
	if said := c.origins.said[key]; said != "" {
		return said
	}
	if line := c.origins.lines[key]; line > 0 {
		return "line " + strconv.Itoa(line)
	}
	return "default"
}
