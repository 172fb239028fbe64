package receiver

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/conchhq/conch/internal/name"
)

// draw returns a text on one line in which each character can be seen: others are spelled as on the page, ‹U+202E›.
func draw(text string) string {
	var b strings.Builder
	for _, r := range text {
		if name.Visible(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "‹%U›", r)
		}
	}
	return b.String()
}

// drawLines is draw for a text that may have several lines.
func drawLines(text string) string {
	lines := strings.Split(strings.Trim(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n"), "\n")
	for i, l := range lines {
		lines[i] = draw(strings.ReplaceAll(l, "\t", " "))
	}
	return strings.Join(lines, "\n")
}

// clip returns at most so many characters of a text, and says where it was cut.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	for i := range text {
		if most--; most == 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// cut returns at most so many bytes of a text, without a part of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
