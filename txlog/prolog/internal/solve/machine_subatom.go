package solve

import (
	"strings"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

func subAtom(m *Machine, a []term.Term) (bool, error) {
	for i, kind := range []string{"", "integer", "integer", "integer", "atom"} {
		t := m.deref(a[i])
		switch {
		case i == 0 || isVar(t) || kind == "integer" && isInt(t) || kind == "atom" && isAtom(t):
		default:
			return false, typeError(kind, t)
		}
		if kind == "integer" && isInt(t) && compareNumbers(t, term.Int(0)) < 0 {
			return false, domainError("not_less_than_zero", t)
		}
	}
	if t := m.deref(a[0]); isCompound(t) || isNumber(t) {
		return false, typeError("atom", t)
	}
	whole, err := m.text(a[0])
	if err != nil {
		return false, err
	}
	m.Budget.Spend(len(whole) / 4)
	if sub, is := m.deref(a[4]).(term.Atom); is {
		return m.subKnown(a, whole, sub.Name())
	}
	at := []int{} // where each character begins
	for i := range whole {
		at = append(at, i)
	}
	at = append(at, len(whole))
	n := len(at) - 1
	from, to := bounds(m.deref(a[1]), 0, n)
	least, most := bounds(m.deref(a[2]), 0, n)
	if after, is := m.deref(a[3]).(term.Int); is {
		switch {
		case isInt(m.deref(a[1])):
			least = max(least, n-from-int(min(after, term.Int(n+1))))
			most = min(most, least)
			if n-from-int(min(after, term.Int(n+1))) < 0 {
				return false, nil
			}
		case isInt(m.deref(a[2])):
			from = max(from, n-least-int(min(after, term.Int(n+1))))
			to = min(to, from)
		}
	}
	begin, size := from, least-1
	return m.try(func(m *Machine) (found, more bool) {
		m.Budget.Spend(1)
		if size++; size > min(most, n-begin) {
			begin, size = begin+1, least
		}
		if begin > to || begin+size > n {
			return false, begin < to && begin+least <= n
		}
		s := whole[at[begin]:at[begin+size]]
		m.Budget.Spend(len(s) / 16)
		more = size < min(most, n-begin) || begin < to
		return m.unify(a[1], term.Int(begin)) && m.unify(a[2], term.Int(size)) && m.unify(a[3], term.Int(n-begin-size)) && m.unify(a[4], m.makeAtom(s)), more
	})
}

// bounds returns a number as the only one, or all.
func bounds(t term.Term, least, most int) (from, to int) {
	if n, is := t.(term.Int); is {
		one := int(min(n, term.Int(most+1)))
		return one, one
	}
	return least, most
}

// subKnown finds a part that is known.
func (m *Machine) subKnown(a []term.Term, whole, sub string) (bool, error) {
	at := 0
	return m.try(func(m *Machine) (found, more bool) {
		m.Budget.Spend(1 + (len(whole)-at)/16)
		i := strings.Index(whole[at:], sub)
		if i < 0 {
			return false, false
		}
		i += at
		_, size := utf8.DecodeRuneInString(whole[i:])
		at = i + max(1, size)
		before, long := utf8.RuneCountInString(whole[:i]), utf8.RuneCountInString(sub)
		after := utf8.RuneCountInString(whole[i+len(sub):])
		return m.unify(a[1], term.Int(before)) && m.unify(a[2], term.Int(long)) && m.unify(a[3], term.Int(after)), at <= len(whole) && i < len(whole)
	})
}
