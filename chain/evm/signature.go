package evm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"

	"github.com/conchhq/conch/internal/pattern"
)

// What the signature of a function may have at most.
const (
	mostSignature = 2000 // bytes
	mostNesting   = 8    // of tuples and arrays
	mostElements  = 4096 // of an array whose type says how many
)

// parseFunction reads a signature, with or without names for the arguments. The name of what it returns is that of the function. Its error
// goes on after the name of what was typed.
func parseFunction(text string) (f argument, err error) {
	if len(text) > mostSignature {
		return f, fmt.Errorf("has %d bytes, and a signature at most %d", len(text), mostSignature)
	}
	p := &signatureParser{rest: strings.TrimPrefix(strings.TrimSpace(text), "function ")}
	f.name = p.word()
	if f.name == "" || !p.takes("(") {
		return f, errors.New("is no function: write its signature, such as transfer(address,uint256) or transfer(address to, uint256 amount)")
	}
	f.kind = aTuple
	if f.parts, err = p.parts(0); err == nil && p.rest != "" {
		err = fmt.Errorf("goes on after its arguments, with %.40q: leave that out", p.rest)
	}
	return f, err
}

// signatureParser reads a signature from its beginning.
type signatureParser struct{ rest string }

var (
	firstWord = pattern.Of(`^[A-Za-z_$][A-Za-z0-9_$]*`)
	firstSize = pattern.Of(`^\[([1-9][0-9]{0,3})?\]`)
)

func (p *signatureParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *signatureParser) word() string {
	p.space()
	word := firstWord().FindString(p.rest)
	p.rest = p.rest[len(word):]
	return word
}

func (p *signatureParser) takes(sign string) (is bool) {
	p.space()
	p.rest, is = strings.CutPrefix(p.rest, sign)
	return is
}

// parts reads what is in brackets, after the first one.
func (p *signatureParser) parts(depth int) (all []argument, err error) {
	if p.takes(")") {
		p.space()
		return nil, nil
	}
	for {
		one, err := p.part(depth + 1)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		switch {
		case p.takes(")"):
			p.space()
			return all, nil
		case !p.takes(","):
			return nil, fmt.Errorf("has %.40q where a comma or a bracket has to be", p.rest)
		}
	}
}

// part reads one type, and a name if there is one.
func (p *signatureParser) part(depth int) (one argument, err error) {
	word := p.word()
	switch {
	case depth > mostNesting:
		return one, errTooDeep
	case (word == "" || word == "tuple") && p.takes("("):
		one.kind = aTuple
		if one.parts, err = p.parts(depth); err == nil && len(one.parts) == 0 {
			err = errors.New("has a tuple without parts")
		}
	default:
		one.leaf, err = parseLeaf(word)
	}
	for err == nil && strings.HasPrefix(p.rest, "[") {
		size := firstSize().FindStringSubmatch(p.rest)
		if depth++; size == nil || depth > mostNesting {
			return one, fmt.Errorf("has %.20q: the size of an array is a number from 1 to %d, or empty, and there are at most %d in one another", p.rest, mostElements, mostNesting)
		}
		p.rest = p.rest[len(size[0]):]
		of, n := one, -1
		if size[1] != "" {
			n, _ = strconv.Atoi(size[1])
		}
		if one = (argument{kind: anArray, of: &of, size: n}); n > mostElements {
			return one, fmt.Errorf("has an array of %d, and at most %d are encoded", n, mostElements)
		}
	}
	if name := p.word(); name == "memory" || name == "calldata" {
		one.name = p.word()
	} else {
		one.name = name
	}
	return one, err
}

var errTooDeep = fmt.Errorf("has more than %d tuples or arrays in one another", mostNesting)

var sized = pattern.Of(`^(uint|int|bytes)([1-9][0-9]{0,2})$`)

// parseLeaf reads a type without parts.
func parseLeaf(word string) (l leaf, err error) {
	l.name = word
	kind := word
	if parts := sized().FindStringSubmatch(word); parts != nil {
		l.size, _ = strconv.Atoi(parts[2])
		switch kind = parts[1] + "256"; {
		case parts[1] == "bytes" && l.size <= wordSize:
			kind = "bytes32"
		case parts[1] == "bytes" || l.size > 256 || l.size%8 != 0:
			kind = ""
		}
	}
	switch kind {
	case "uint", "int":
		return l, fmt.Errorf("has a type without its size: write %s256 for %s", word, word)
	case "uint256", "int256", "bytes32", "address", "bool", "string", "bytes":
		l.packed, err = abi.NewType(kind, "", nil)
		return l, err
	}
	return l, fmt.Errorf("has %.40q where a type has to be, such as address, uint256, bytes32, bool, string, bytes, or a tuple in brackets", word)
}
