package config

import (
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// places finds the line of each key of a file, under the name by which faults
// speak of it: roles[1].lease. It is for messages only; a file that it can not
// read has no lines.
func places(text []byte) map[string]int {
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
		name = under(name, string(part.Data))
		line = p.Shape(part.Raw).Start.Line
		if lines[name] == 0 {
			lines[name] = line
		}
	}
	return name, line
}

func under(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}
