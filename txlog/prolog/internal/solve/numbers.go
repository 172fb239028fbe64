package solve

import (
	"math"
	"math/bits"

	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

var constants = map[string]term.Term{
	"pi": term.Float(math.Pi), "e": term.Float(math.E), "epsilon": term.Float(0x1p-52),
	"max_tagged_integer": term.Int(math.MaxInt64), "max_integer": term.Int(math.MaxInt64), "min_integer": term.Int(math.MinInt64),
}

type function func(x, y term.Term) (term.Term, error)

var functions = map[ontology.Name]function{}

func init() { //nolint:gochecknoinits // a table
	one := func(name string, f function) { functions[ontology.Name{Atom: term.NewAtom(name), Arity: 1}] = f }
	two := func(name string, f function) { functions[ontology.Name{Atom: term.NewAtom(name), Arity: 2}] = f }
	two("+", mixed(addInts, func(x, y float64) float64 { return x + y }))
	two("-", mixed(subInts, func(x, y float64) float64 { return x - y }))
	two("*", mixed(mulInts, func(x, y float64) float64 { return x * y }))
	two("/", divide)
	two("min", func(x, y term.Term) (term.Term, error) { return chosen(x, y, compareNumbers(x, y) <= 0), nil })
	two("max", func(x, y term.Term) (term.Term, error) { return chosen(x, y, compareNumbers(x, y) >= 0), nil })
	for name, f := range map[string]func(x, y int64) (int64, string){
		"//": quotient, "rem": remainder, "mod": modulo, "div": floorQuotient, "gcd": gcd,
		"/\\": func(x, y int64) (int64, string) { return x & y, "" }, "\\/": func(x, y int64) (int64, string) { return x | y, "" },
		"xor": func(x, y int64) (int64, string) { return x ^ y, "" }, ">>": shiftRight, "<<": shiftLeft,
	} {
		two(name, ints(f))
	}
	two("**", power)
	two("^", intPower)
	two("atan2", floats(math.Atan2))
	two("atan", floats(math.Atan2))
	two("copysign", floats(math.Copysign))
	one("-", func(x, _ term.Term) (term.Term, error) {
		return mixed(subInts, func(x, y float64) float64 { return x - y })(zeroOf(x), x)
	})
	one("+", func(x, _ term.Term) (term.Term, error) { return x, nil })
	one("abs", func(x, _ term.Term) (term.Term, error) {
		if compareNumbers(x, term.Int(0)) >= 0 {
			return x, nil
		}
		return mixed(subInts, func(x, y float64) float64 { return x - y })(zeroOf(x), x)
	})
	one("sign", sign)
	one("\\", ints(func(x, _ int64) (int64, string) { return ^x, "" }))
	one("msb", ints(func(x, _ int64) (int64, string) { return int64(bits.Len64(uint64(x))) - 1, "" }))
	one("succ", func(x, _ term.Term) (term.Term, error) { return mixed(addInts, nil)(x, term.Int(1)) })
	one("float", floats(func(x, _ float64) float64 { return x }))
	one("integer", rounded(math.Round))
	one("truncate", rounded(math.Trunc))
	one("round", rounded(math.Round))
	one("floor", rounded(math.Floor))
	one("ceiling", rounded(math.Ceil))
	one("float_integer_part", floats(func(x, _ float64) float64 { return math.Trunc(x) }))
	one("float_fractional_part", floats(func(x, _ float64) float64 { return x - math.Trunc(x) }))
	for name, f := range map[string]func(float64) float64{
		"sqrt": math.Sqrt, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"exp": math.Exp, "log2": math.Log2, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
	} {
		one(name, floats(func(x, _ float64) float64 { return f(x) }))
	}
	one("log", func(x, _ term.Term) (term.Term, error) {
		if toFloat(x) <= 0 {
			return nil, evaluation("undefined")
		}
		return floats(func(x, _ float64) float64 { return math.Log(x) })(x, nil)
	})
}

func zeroOf(x term.Term) term.Term {
	if _, is := x.(term.Float); is {
		return term.Float(math.Copysign(0, -1)) // so that -(0.0) is -0.0
	}
	return term.Int(0)
}

func chosen(x, y term.Term, first bool) term.Term {
	if first {
		return x
	}
	return y
}

// float returns a float that can be kept.
func float(f float64) (term.Term, error) {
	switch {
	case math.IsNaN(f):
		return nil, evaluation("undefined")
	case math.IsInf(f, 0):
		return nil, evaluation("float_overflow")
	}
	return term.Float(f), nil
}

// mixed is a function of two integers or of two floats.
func mixed(ofInts func(x, y int64) (int64, bool), ofFloats func(x, y float64) float64) function {
	return func(x, y term.Term) (term.Term, error) {
		i, is := x.(term.Int)
		j, both := y.(term.Int)
		if is && both {
			n, fits := ofInts(int64(i), int64(j))
			if !fits {
				return nil, evaluation("int_overflow")
			}
			return term.Int(n), nil
		}
		if ofFloats == nil {
			return nil, typeError("integer", x)
		}
		return float(ofFloats(toFloat(x), toFloat(y)))
	}
}

func addInts(x, y int64) (int64, bool) { return x + y, (x+y > x) == (y > 0) }

func subInts(x, y int64) (int64, bool) { return x - y, (x-y < x) == (y > 0) }

func mulInts(x, y int64) (int64, bool) {
	if x == 0 || y == 0 {
		return 0, true
	}
	n := x * y
	return n, n/y == x && (x != -1 || y != math.MinInt64) && (y != -1 || x != math.MinInt64)
}

func floats(f func(x, y float64) float64) function {
	return func(x, y term.Term) (term.Term, error) { return float(f(toFloat(x), toFloat(y))) }
}

// ints is a function of integers alone. The text is the error of an evaluation.
func ints(f func(x, y int64) (int64, string)) function {
	return func(x, y term.Term) (term.Term, error) {
		i, is := x.(term.Int)
		if !is {
			return nil, typeError("integer", x)
		}
		j, is := y.(term.Int)
		if !is && y != nil {
			return nil, typeError("integer", y)
		}
		n, fault := f(int64(i), int64(j))
		if fault != "" {
			return nil, evaluation(fault)
		}
		return term.Int(n), nil
	}
}

const zeroDivisor, overflow = "zero_divisor", "int_overflow"

func quotient(x, y int64) (int64, string) {
	switch {
	case y == 0:
		return 0, zeroDivisor
	case x == math.MinInt64 && y == -1:
		return 0, overflow
	}
	return x / y, ""
}

func remainder(x, y int64) (int64, string) {
	switch y {
	case 0:
		return 0, zeroDivisor
	case -1:
		return 0, ""
	}
	return x % y, ""
}

func modulo(x, y int64) (int64, string) {
	n, fault := remainder(x, y)
	if n != 0 && (n < 0) != (y < 0) {
		n += y
	}
	return n, fault
}

func floorQuotient(x, y int64) (int64, string) {
	n, fault := quotient(x, y)
	if fault == "" && x%y != 0 && (x < 0) != (y < 0) {
		n--
	}
	return n, fault
}

func gcd(x, y int64) (int64, string) {
	for y != 0 {
		if y == -1 {
			return 1, ""
		}
		x, y = y, x%y
	}
	if x == math.MinInt64 {
		return 0, overflow
	}
	return max(x, -x), ""
}

func shiftRight(x, y int64) (int64, string) {
	if y < 0 {
		if y == math.MinInt64 {
			return 0, overflow
		}
		return shiftLeft(x, -y)
	}
	return x >> min(y, 63), ""
}

func shiftLeft(x, y int64) (int64, string) {
	if y < 0 {
		if y == math.MinInt64 {
			return shiftRight(x, 63)
		}
		return shiftRight(x, -y)
	}
	if n := x << min(y, 63); y < 64 && n>>y == x || x == 0 {
		return n, ""
	}
	return 0, overflow
}

// divide divides two integers without a remainder to an integer.
func divide(x, y term.Term) (term.Term, error) {
	i, is := x.(term.Int)
	j, both := y.(term.Int)
	if is && both && j != 0 {
		if n, fault := quotient(int64(i), int64(j)); fault == "" && int64(i)%int64(j) == 0 {
			return term.Int(n), nil
		} else if fault != "" {
			return nil, evaluation(fault)
		}
	}
	if toFloat(y) == 0 {
		return nil, evaluation(zeroDivisor)
	}
	return float(toFloat(x) / toFloat(y))
}

func power(x, y term.Term) (term.Term, error) {
	_, is := x.(term.Int)
	_, both := y.(term.Int)
	if is && both {
		return intPower(x, y)
	}
	return floatPower(x, y)
}

func floatPower(x, y term.Term) (term.Term, error) {
	if toFloat(x) == 0 && toFloat(y) < 0 {
		return nil, evaluation(zeroDivisor)
	}
	return float(math.Pow(toFloat(x), toFloat(y)))
}

func intPower(x, y term.Term) (term.Term, error) {
	i, is := x.(term.Int)
	n, both := y.(term.Int)
	if !is || !both {
		return floatPower(x, y)
	}
	switch {
	case n < 0 && i == 1:
		return i, nil
	case n < 0 && i == -1:
		return chosen(term.Int(1), term.Int(-1), n%2 == 0), nil
	case n < 0 && i == 0:
		return nil, evaluation(zeroDivisor)
	case n < 0:
		return nil, typeError("float", i)
	}
	out, square := int64(1), int64(i)
	var fits bool
	for {
		if n&1 == 1 {
			if out, fits = mulInts(out, square); !fits {
				return nil, evaluation(overflow)
			}
		}
		if n >>= 1; n == 0 {
			return term.Int(out), nil
		}
		if square, fits = mulInts(square, square); !fits {
			return nil, evaluation(overflow)
		}
	}
}

func sign(x, _ term.Term) (term.Term, error) {
	n := compareNumbers(x, term.Int(0))
	if _, is := x.(term.Float); is {
		return term.Float(n), nil
	}
	return term.Int(n), nil
}

func rounded(f func(float64) float64) function {
	return func(x, _ term.Term) (term.Term, error) {
		switch x := x.(type) {
		case term.Int:
			return x, nil
		case term.Float:
			n := f(float64(x))
			if n < -0x1p63 || n >= 0x1p63 {
				return nil, evaluation(overflow)
			}
			return term.Int(n), nil
		}
		return nil, typeError("number", x)
	}
}
