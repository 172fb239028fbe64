package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"
)

// document prints one JSON document.
func (a *app) document(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// line prints one line for people.
func (a *app) line(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format+"\n", args...)
	return err
}

// table prints columns for people; each row's cells are separated by tabs.
func (a *app) table(header string, rows []string) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range append([]string{header}, rows...) {
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
	}
	return w.Flush()
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
