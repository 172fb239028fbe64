package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/conchhq/conch/internal/name"
)

// Document prints one JSON document.
func (s *Shell) Document(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return s.Text(strings.ToValidUTF8(text.String(), "\ufffd")) // what came as JSON may have other bytes
}

// Text prints lines that conch has written, such as SQL, as they are. Main reports what could not be written, here and below.
func (s *Shell) Text(text string) error {
	_, err := io.WriteString(s.Stdout, text)
	return err
}

// Line prints for people, as [Row] does.
func (s *Shell) Line(format string, args ...any) error { return s.Text(Row(format, args...) + "\n") }

// Say prints on stderr, as [Row] does, what is not the answer.
func (s *Shell) Say(format string, args ...any) {
	_, _ = io.WriteString(s.Stderr, Row(format, args...)+"\n")
}

// widest is how many characters of a cell are shown. A column is as wide as its widest cell, and others may have written that.
const widest = 1000

// Table prints columns for people; each row is one of [Row].
func (s *Shell) Table(header string, rows []string) error {
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range append([]string{header}, rows...) {
		cells := strings.Split(row, "\t")
		for i, cell := range cells {
			if utf8.RuneCountInString(cell) > widest {
				cells[i] = string([]rune(cell)[:widest]) + "…"
			}
		}
		_, _ = io.WriteString(w, strings.Join(cells, "\t")+"\n")
	}
	return w.Flush()
}

// Fields prints names and values, one a line. What is empty is left out.
func (s *Shell) Fields(fields [][2]string) error {
	width := 0
	for _, f := range fields {
		width = max(width, len(f[0]))
	}
	for _, f := range fields {
		if f[1] != "" {
			_ = s.Line("%-*s %s", width, f[0], f[1])
		}
	}
	return nil
}

// Entries prints the entries of a list as a table, or with --json as they came, one a line.
func Entries[T any](s *Shell, all []json.RawMessage, header string, row func(T) string) error {
	var rows []string
	for _, raw := range all {
		if s.JSON {
			if err := s.Document(raw); err != nil {
				return err
			}
			continue
		}
		var one T
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		rows = append(rows, row(one))
	}
	if s.JSON {
		return nil
	}
	return s.Table(header, rows)
}

// Terminal reports whether a writer is a terminal that can be redrawn, and how wide it is.
func Terminal(w io.Writer) (is bool, width func() int) {
	file, ok := Beneath(w).(*os.File)
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

// Ago says how long ago something was. What was in this instant, as far as is known, was now.
func Ago(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d <= 0:
		return "now"
	case d > time.Second:
		d = d.Round(time.Second / 10)
	}
	return d.String() + " ago"
}

// Named returns a name as a table shows it: in quotes if readers could miss a part of it, - if there is none.
func Named(text string) string {
	switch {
	case text != "" && name.Fault(text) != "":
		return strconv.QuoteToASCII(text)
	case strings.Contains(text, " "):
		return strconv.Quote(text)
	}
	return OrDash(text)
}

// OrDash returns s, or "-" if s is empty.
func OrDash(s string) string { return cmp.Or(s, "-") }
