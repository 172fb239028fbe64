package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"golang.org/x/term"
)

// Document prints one JSON document.
func (s *Shell) Document(v any) error {
	enc := json.NewEncoder(s.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Line prints one line for people.
func (s *Shell) Line(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Stdout, format+"\n", args...)
	return err
}

// Table prints columns for people; each row's cells are separated by tabs.
func (s *Shell) Table(header string, rows []string) error {
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range append([]string{header}, rows...) {
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Terminal reports whether a writer is a terminal that can be redrawn, and how wide it is.
func Terminal(w io.Writer) (is bool, width func() int) {
	file, ok := w.(*os.File)
	is = ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
	return is, func() int {
		if !is {
			return 0
		}
		width, _, _ := term.GetSize(int(file.Fd())) // 0 if unknown
		return width
	}
}

// Clock formats a time for people.
func Clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }

// OrDash returns s, or "-" if s is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
