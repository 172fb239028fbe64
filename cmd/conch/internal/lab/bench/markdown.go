package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// Markdown returns a report as a Markdown table.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | value | ceiling | ratio | unit |\n|---|---:|---:|---:|---|\n", r.Name)
	for _, m := range r.Metrics {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, number(&m.Value), number(m.Ceiling), number(m.Ratio), m.Unit)
	}
	return b.String()
}

// Rows returns the rows of a plain table, with cells separated by tabs.
func (r *Report) Rows() []string {
	rows := make([]string, 0, len(r.Metrics))
	for _, m := range r.Metrics {
		rows = append(rows, strings.Join([]string{m.Name, number(&m.Value), number(m.Ceiling), number(m.Ratio), m.Unit}, "\t"))
	}
	return rows
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}
