package syntax

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Error says where a text is none of a term, and why. Lines and columns count from 1, columns in characters.
type Error struct {
	Line, Column int
	Why          string
}

// Error says it.
func (e *Error) Error() string { return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Why) }

type kind byte

const (
	tokEOF    kind = iota
	tokEnd         // a full stop
	tokName        // text is the name
	tokQuoted      // a name in quotes
	tokVar         // text is its name
	tokNumber      // of
	tokString      // text, in double quotes
	tokBack        // text, in back quotes
	tokPunct       // text is ( ) [ ] { } , |
)

// token is a part of a text.
type token struct {
	kind   kind
	text   string
	of     term.Term // of a number
	at     int       // where it begins
	layout bool      // before it
	named  term.Atom // of a name, once it was asked for
}

func (t token) is(punct string) bool { return t.kind == tokPunct && t.text == punct }

// name reports whether it can be the name of an atom or an operator.
func (t token) name() bool { return t.kind == tokName || t.kind == tokQuoted }

// lexer cuts a text into tokens.
type lexer struct {
	b    *txlog.Budget
	text string
	at   int
}

// fail says that something at a place is wrong.
func (l *lexer) fail(at int, why string) error {
	before := l.text[:min(at, len(l.text))]
	line := 1 + strings.Count(before, "\n")
	return &Error{line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]), why}
}

func (l *lexer) peek() rune {
	if l.at >= len(l.text) {
		return -1
	}
	if c := l.text[l.at]; c < utf8.RuneSelf {
		return rune(c)
	}
	r, _ := utf8.DecodeRuneInString(l.text[l.at:])
	return r
}

func (l *lexer) step() rune {
	r := l.peek()
	if r >= 0 {
		l.at += max(1, utf8.RuneLen(r))
	}
	return r
}

// The classes of characters, of those that are ASCII in a table.
const (
	symbol byte = 1 << iota
	alnum
)

var ascii = func() (of [utf8.RuneSelf]byte) {
	for _, r := range `+-*/\^<>=~:.?@#&$` {
		of[r] |= symbol
	}
	for r := range rune(utf8.RuneSelf) {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			of[r] |= alnum
		}
	}
	return of
}()

func isSymbol(r rune) bool { return r >= 0 && r < utf8.RuneSelf && ascii[r]&symbol != 0 }

func isAlnum(r rune) bool {
	if r >= 0 && r < utf8.RuneSelf {
		return ascii[r]&alnum != 0
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func isUpper(r rune) bool { return r == '_' || unicode.IsUpper(r) || unicode.IsTitle(r) }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// skip passes layout and comments, and reports whether there was any.
func (l *lexer) skip() (some bool, err error) {
	for {
		switch r := l.peek(); {
		case r >= 0 && unicode.IsSpace(r):
			l.step()
		case r == '%':
			n := strings.IndexByte(l.text[l.at:], '\n')
			if n < 0 {
				n = len(l.text) - l.at
			}
			l.at += n
		case strings.HasPrefix(l.text[l.at:], "/*"):
			n := strings.Index(l.text[l.at+2:], "*/")
			if n < 0 {
				return some, l.fail(l.at, "the comment that begins here has no end")
			}
			l.at += n + 4
		default:
			return some, nil
		}
		some = true
	}
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	l.b.Spend(1)
	layout, err := l.skip()
	if err != nil {
		return token{}, err
	}
	t := token{at: l.at, layout: layout}
	switch r := l.peek(); {
	case r < 0:
		return t, nil
	case isDigit(r):
		t.kind = tokNumber
		t.of, err = l.number()
	case isUpper(r):
		t.kind, t.text = tokVar, l.alnum()
	case unicode.IsLetter(r):
		t.kind, t.text = tokName, l.alnum()
	case r == '\'':
		t.kind = tokQuoted
		t.text, err = l.quoted('\'')
	case r == '"':
		t.kind = tokString
		t.text, err = l.quoted('"')
	case r == '`':
		t.kind = tokBack
		t.text, err = l.quoted('`')
	case strings.ContainsRune("()[]{},|", r):
		l.step()
		t.kind, t.text = tokPunct, l.text[t.at:l.at]
	case r == '!' || r == ';':
		l.step()
		t.kind, t.text = tokName, l.text[t.at:l.at]
	case isSymbol(r):
		begin := l.at
		if r == '.' && l.ends(l.at+1) {
			l.step()
			t.kind = tokEnd
			return t, nil
		}
		for isSymbol(l.peek()) {
			l.step()
		}
		t.kind, t.text = tokName, l.text[begin:l.at]
	default:
		return t, l.fail(l.at, "the character "+strconv.QuoteRune(r)+" begins nothing")
	}
	l.b.Spend((l.at - t.at) / 16)
	return t, err
}

// ends reports whether a full stop before this place ends a term.
func (l *lexer) ends(at int) bool {
	if at >= len(l.text) || l.text[at] == '%' {
		return true
	}
	r, _ := utf8.DecodeRuneInString(l.text[at:])
	return unicode.IsSpace(r)
}

func (l *lexer) alnum() string {
	begin := l.at
	for l.at < len(l.text) && l.text[l.at] < utf8.RuneSelf && ascii[l.text[l.at]]&alnum != 0 {
		l.at++
	}
	for isAlnum(l.peek()) {
		l.step()
	}
	return l.text[begin:l.at]
}

// number reads a number without a sign.
func (l *lexer) number() (term.Term, error) {
	begin := l.at
	if l.text[l.at] == '0' && l.at+1 < len(l.text) {
		base := baseOf(l.text[l.at+1])
		switch {
		case base > 0 && l.at+2 < len(l.text) && digit(rune(l.text[l.at+2])) < base:
			l.at += 2
			return l.whole(begin, base)
		case l.text[l.at+1] == '\'':
			if n, is, err := l.character(); is || err != nil {
				return n, err
			}
		}
	}
	for isDigit(l.peek()) {
		l.step()
	}
	rest := l.text[l.at:]
	if len(rest) < 2 || rest[0] != '.' || !isDigit(rune(rest[1])) {
		l.at = begin
		return l.whole(begin, 10)
	}
	for l.step(); isDigit(l.peek()); {
		l.step()
	}
	if rest = l.text[l.at:]; rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		n := 1
		if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
			n++
		}
		if n < len(rest) && isDigit(rune(rest[n])) {
			for l.at += n; isDigit(l.peek()); {
				l.step()
			}
		}
	}
	f, err := strconv.ParseFloat(l.text[begin:l.at], 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, l.fail(begin, "the number is too large")
	}
	return term.Float(f), nil
}

// baseOf returns what digits are of after 0 and a letter, or 0.
func baseOf(letter byte) int {
	switch letter {
	case 'b':
		return 2
	case 'o':
		return 8
	case 'x':
		return 16
	}
	return 0
}

func digit(r rune) int {
	switch {
	case isDigit(r):
		return int(r - '0')
	case r >= 'a' && r <= 'f':
		return int(r-'a') + 10
	case r >= 'A' && r <= 'F':
		return int(r-'A') + 10
	}
	return 99
}

// whole reads the digits of an integer. The least integer has no positive one: negative makes it.
func (l *lexer) whole(begin, base int) (term.Term, error) {
	n := uint64(0)
	for digit(l.peek()) < base {
		d := uint64(digit(l.step()))
		if n > (1<<63-d)/uint64(base) {
			return nil, l.fail(begin, "an integer has 64 bits")
		}
		n = n*uint64(base) + d
	}
	if n == 1<<63 {
		return large{}, nil
	}
	return term.Int(n), nil
}

// large is 2^63, which is an integer only after a minus.
type large struct{}

// character reads the code of a character: 0'a. What is none is no error: 0 alone may stand there.
func (l *lexer) character() (n term.Term, is bool, err error) {
	begin := l.at
	l.at += 2
	switch r := l.peek(); {
	case r == '\\':
		code, skip, err := l.escape('\'')
		if err == nil && skip {
			return nil, false, l.fail(begin, "no character follows")
		}
		return term.Int(code), true, err
	case r == '\'' && strings.HasPrefix(l.text[l.at:], "''"):
		l.at += 2
		return term.Int('\''), true, nil
	case r >= 0 && r != '\'' && r != '\n':
		return term.Int(l.step()), true, nil
	}
	l.at = begin
	return nil, false, nil
}

// quoted reads a text in quotes.
func (l *lexer) quoted(quote rune) (string, error) {
	begin := l.at
	l.step()
	var out strings.Builder
	for {
		switch r := l.peek(); {
		case r < 0:
			return "", l.fail(begin, "the text in quotes that begins here has no end")
		case r == '\n':
			return "", l.fail(l.at, "a line ends in a text in quotes: write \\n")
		case r == quote:
			l.step()
			if l.peek() != quote {
				return out.String(), nil
			}
			l.step()
			out.WriteRune(quote)
		case r == '\\':
			code, skip, err := l.escape(quote)
			if err != nil {
				return "", err
			}
			if !skip {
				out.WriteRune(code)
			}
		case r == utf8.RuneError:
			return "", l.fail(l.at, "the text is not in UTF-8")
		default:
			out.WriteRune(l.step())
		}
	}
}

// escape reads what follows a backslash; skip: it stands for nothing.
func (l *lexer) escape(quote rune) (code rune, skip bool, err error) {
	begin := l.at
	l.step()
	r := l.step()
	if at := strings.IndexRune(`abfnrtv\'"`+"`", r); at >= 0 {
		return []rune("\a\b\f\n\r\t\v\\'\"`")[at], false, nil
	}
	switch {
	case r == '\n':
		return 0, true, nil
	case r == 'x':
		return l.coded(begin, 16)
	case r >= '0' && r <= '7':
		l.at--
		return l.coded(begin, 8)
	}
	return 0, false, l.fail(begin, "there is no escape \\"+string(max(r, ' '))+" in "+string(quote)+"…"+string(quote))
}

func (l *lexer) coded(begin, base int) (rune, bool, error) {
	n, some := 0, false
	for digit(l.peek()) < base && n <= unicode.MaxRune {
		n = n*base + digit(l.step())
		some = true
	}
	if l.step() != '\\' || !some || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, false, l.fail(begin, "a character's number is written \\x41\\ or \\101\\")
	}
	return rune(n), false, nil
}
