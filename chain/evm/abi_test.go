package evm_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/conchhq/conch/chain/evm"
)

func encode(t *testing.T, function, args string) ([]byte, error) {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(args), &list); err != nil {
		t.Fatal(args, err)
	}
	return evm.EncodeCall(function, list)
}

const someone = "0x00000000000000000000000000000000000000aa"

// What is encoded is what go-ethereum encodes from the values of Go, of each kind of type, in one another too.
func TestEncodedAsGoEthereumDoes(t *testing.T) {
	t.Parallel()
	type pair struct {
		To     common.Address
		Amount *big.Int
	}
	type deep struct {
		Name  string
		Pairs []pair
		Sizes [2][]uint8
	}
	to, pairs := common.HexToAddress(someone), `{"name":"to","type":"address"},{"name":"amount","type":"uint256"}`
	for _, c := range []struct {
		function, args string
		inputs         string // of the JSON ABI
		values         []any
	}{
		{"transfer(address,uint256)", `["` + someone + `","1000"]`, `{"type":"address"},{"type":"uint256"}`, []any{to, big.NewInt(1000)}},
		{" function transfer( address to , uint256  amount ) ", `["` + someone + `",1000]`, `{"type":"address"},{"type":"uint256"}`, []any{to, big.NewInt(1000)}},
		{"f()", `[]`, ``, nil},
		{"f(int8,int256,uint64)", `["-128","-1",5]`, `{"type":"int8"},{"type":"int256"},{"type":"uint64"}`, []any{int8(-128), big.NewInt(-1), uint64(5)}},
		{"f(uint256)", `["` + new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)).String() + `"]`, `{"type":"uint256"}`, []any{new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))}},
		{"f(bool,string,bytes,bytes4)", `[true,"Grüße, \"x\"","0x0102","0xa9059cbb"]`, `{"type":"bool"},{"type":"string"},{"type":"bytes"},{"type":"bytes4"}`, []any{true, `Grüße, "x"`, []byte{1, 2}, [4]byte{0xa9, 0x05, 0x9c, 0xbb}}},
		{"f(string,bytes)", `["","0x"]`, `{"type":"string"},{"type":"bytes"}`, []any{"", []byte{}}},
		{"f(uint256[],uint8[3],string[2])", `[["1","2"],["1","2","3"],["a","` + strings.Repeat("b", 33) + `"]]`, `{"type":"uint256[]"},{"type":"uint8[3]"},{"type":"string[2]"}`, []any{[]*big.Int{big.NewInt(1), big.NewInt(2)}, [3]uint8{1, 2, 3}, [2]string{"a", strings.Repeat("b", 33)}}},
		{"f(uint8[][2][])", `[[[["1"],[]],[["2","3"],["4"]]]]`, `{"type":"uint8[][2][]"}`, []any{[][2][]uint8{{{1}, {}}, {{2, 3}, {4}}}}},
		{"pay((address,uint256),bool)", `[["` + someone + `","7"],"false"]`, `{"type":"tuple","components":[` + pairs + `]},{"type":"bool"}`, []any{pair{to, big.NewInt(7)}, false}},
		{"pay((address to, uint256 amount)[] list)", `[[{"amount":"7","to":"` + someone + `"},["` + someone + `","8"]]]`, `{"type":"tuple[]","components":[` + pairs + `]}`, []any{[]pair{{to, big.NewInt(7)}, {to, big.NewInt(8)}}}},
		{"f(tuple(string name, (address,uint256)[] pairs, uint8[][2] sizes) memory it, uint256 n)", `[{"name":"x","pairs":[["` + someone + `","7"]],"sizes":[["1"],["2","3"]]},"9"]`,
			`{"type":"tuple","components":[{"name":"name","type":"string"},{"name":"pairs","type":"tuple[]","components":[` + pairs + `]},{"name":"sizes","type":"uint8[][2]"}]},{"type":"uint256"}`,
			[]any{deep{"x", []pair{{to, big.NewInt(7)}}, [2][]uint8{{1}, {2, 3}}}, big.NewInt(9)}},
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(c.function), "function "), "(")
		known, err := abi.JSON(strings.NewReader(`[{"type":"function","name":"` + name + `","inputs":[` + c.inputs + `]}]`))
		if err != nil {
			t.Fatal(c.function, err)
		}
		want, err := known.Pack(name, c.values...)
		if err != nil {
			t.Fatal(c.function, err)
		}
		if got, err := encode(t, c.function, c.args); err != nil || string(got) != string(want) {
			t.Errorf("%s: got error %v and\n%s\nwant\n%s", c.function, err, hex.EncodeToString(got), hex.EncodeToString(want))
		}
	}
}

// Arrays and tuples of any shape are laid out as go-ethereum reads them.
func TestAnyShapeIsReadBack(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(7, 47))
	var shape func(depth int) (signature, component string)
	shape = func(depth int) (signature, component string) {
		switch kind := dice.IntN(6); {
		case depth == 0 || kind < 3:
			leaf := []string{"uint256", "string", "bytes", "address", "bool", "int16"}[dice.IntN(6)]
			return leaf, `{"name":"a","type":"` + leaf + `"}`
		case kind < 5:
			of, c := shape(depth - 1)
			size := []string{"[]", "[2]"}[dice.IntN(2)]
			at := strings.Index(c, `"type":"`) + len(`"type":"`)
			end := at + strings.Index(c[at:], `"`)
			return of + size, c[:end] + size + c[end:]
		}
		var ss, cs []string
		for i := range 1 + dice.IntN(3) {
			s, c := shape(depth - 1)
			ss, cs = append(ss, s), append(cs, strings.Replace(c, `"name":"a"`, fmt.Sprintf(`"name":"a%d"`, i), 1))
		}
		return "(" + strings.Join(ss, ",") + ")", `{"name":"a","type":"tuple","components":[` + strings.Join(cs, ",") + `]}`
	}
	for range 300 {
		s, c := shape(3)
		signature := "f(" + s + ",uint8)"
		data, err := encode(t, signature, "["+valueOf(s)+`,"9"]`)
		if err != nil {
			t.Fatalf("%s: %v", signature, err)
		}
		known, err := abi.JSON(strings.NewReader(`[{"type":"function","name":"f","inputs":[` + c + `,{"name":"n","type":"uint8"}]}]`))
		if err != nil {
			t.Fatal(signature, err)
		}
		if known.Methods["f"].Sig != signature || string(known.Methods["f"].ID) != string(data[:4]) {
			t.Fatalf("%s: go-ethereum calls it %s", signature, known.Methods["f"].Sig)
		}
		values, err := known.Methods["f"].Inputs.Unpack(data[4:])
		if err != nil {
			t.Fatalf("%s: go-ethereum cannot read it: %v", signature, err)
		}
		if again, err := known.Methods["f"].Inputs.Pack(values...); err != nil || string(again) != string(data[4:]) {
			t.Errorf("%s: go-ethereum encodes what it has read as\n%x, error %v; got\n%x", signature, again, err, data[4:])
		}
	}
}

// valueOf returns a value for a type.
func valueOf(s string) string {
	if rest, is := strings.CutSuffix(s, "]"); is {
		at := strings.LastIndex(rest, "[")
		if rest[at:] == "[" {
			return "[" + valueOf(rest[:at]) + "," + valueOf(rest[:at]) + "," + valueOf(rest[:at]) + "]"
		}
		return "[" + valueOf(rest[:at]) + "," + valueOf(rest[:at]) + "]"
	}
	if !strings.HasPrefix(s, "(") {
		return map[string]string{"uint256": `"77"`, "string": `"abc"`, "bytes": `"0x010203"`, "address": `"` + someone + `"`, "bool": "true", "int16": `"-3"`}[s]
	}
	var values []string
	depth, from := 0, 1
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if c == ',' && depth == 1 || depth == 0 {
			values, from = append(values, valueOf(s[from:i])), i+1
		}
	}
	return "[" + strings.Join(values, ",") + "]"
}

// What cannot be encoded says which argument it is, and what is wrong with it; a number that does not fit is never cut.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	huge := new(big.Int).Lsh(big.NewInt(1), 256).String()
	for _, c := range []struct{ function, args, path, says string }{
		{"f(address a)", `["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"]`, "[0] (a)", "has a wrong checksum (EIP-55)"},
		{"f(address)", `["payee.eth"]`, "[0]", "it is a name"},
		{"f(address)", `[5]`, "[0]", "is 5, and has to be a text"},
		{"f((address to)[] list)", `[[["` + someone + `"],["0x01"]]]`, "[0] (list)[1][0] (to)", "has 2 digits"},
		{"f(uint256)", `["` + huge + `"]`, "[0]", "which uint256 cannot have"},
		{"f(uint256)", `["` + strings.Repeat("9", 5000) + `"]`, "[0]", "has to be a text of decimal digits"},
		{"f(uint256)", `["-1"]`, "[0]", "which uint256 cannot have"},
		{"f(uint8)", `["256"]`, "[0]", "which uint8 cannot have"},
		{"f(int8)", `["128"]`, "[0]", "which int8 cannot have"},
		{"f(int8)", `["-129"]`, "[0]", "which int8 cannot have"},
		{"f(uint256)", `[9007199254740992]`, "[0]", "quotation marks"},
		{"f(uint256)", `[1e3]`, "[0]", "decimal digits"},
		{"f(uint256)", `["0x10"]`, "[0]", "decimal digits"},
		{"f(uint256)", `[1.5]`, "[0]", "decimal digits"},
		{"f(uint256)", `[""]`, "[0]", "decimal digits"},
		{"f(uint256)", `[null]`, "[0]", "is null"},
		{"f(bool)", `[1]`, "[0]", "true or false"},
		{"f(string)", `[["x"]]`, "[0]", "is an array"},
		{"f(bytes)", `["face"]`, "[0]", "does not begin with 0x"},
		{"f(bytes)", `["0x1"]`, "[0]", "even number"},
		{"f(bytes4)", `["0x010203"]`, "[0]", "has 3 bytes, and bytes4 has 4"},
		{"f(uint8[2])", `[["1"]]`, "[0]", "has 1 elements, and has to have 2"},
		{"f(uint8[])", `["1"]`, "[0]", "has to be an array of uint8"},
		{"f((uint8 a,uint8 b))", `[["1"]]`, "[0]", "has 1 elements, and (uint8,uint8) has 2"},
		{"f((uint8 a,uint8 b))", `[{"a":"1"}]`, "[0]", `has no "b"`},
		{"f((uint8 a))", `[{"a":"1","c":"2"}]`, "[0]", `has "c", which`},
		{"f((uint8 a))", `[{"a":"1","a":"2"}]`, "[0]", `has "a" twice`},
		{"f((uint8))", `[{"a":"1"}]`, "[0]", "does not name the parts"},
		{"f((uint8 a))", `["1"]`, "[0]", "has to be an array with the parts"},
		{"f(uint8)", `[]`, "", "has 0 elements, and f(uint8) takes 1"},
		{"f(uint8)", `["1","2"]`, "", "has 2 elements"},
	} {
		_, err := encode(t, c.function, c.args)
		wrong, is := errors.AsType[*evm.ArgumentError](err)
		if !is || wrong.Path != c.path || !strings.Contains(wrong.Text, c.says) || len(wrong.Text) > 400 {
			t.Errorf("%s %.80s: got %v, want one about %q that says %q", c.function, c.args, err, c.path, c.says)
		}
	}
}

// What is no signature is refused in words, whatever it is, and at once.
func TestWrongFunctions(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"": "is no function", "transfer": "is no function", "(address)": "is no function", "0xa9059cbb": "is no function", "f(": "where a type has to be", "f(address": "where a comma",
		"f(address,)": "where a type has to be", "f(adr)": `has "adr"`, "f(uint)": "write uint256 for uint", "f(uint7)": "uint7", "f(uint264)": "uint264", "f(bytes33)": "bytes33", "f(bytes0)": "bytes0",
		"f(uint256) returns (bool)": "goes on after", "f(uint256[0])": "the size of an array", "f(uint256[-1])": "the size of an array", "f(uint256[5000])": "at most 4096", "f(uint256[99999999999])": "the size of an array",
		"f(uint256[": "the size of an array", "f(())": "a tuple without parts", "f(function)": "where a type has to be", "f(fixed128x18)": "where a type", "f(mapping(address=>uint256))": "where a type",
		"f(" + strings.Repeat("(", 9) + "uint8" + strings.Repeat(")", 9) + ")": "in one another", "f(uint8" + strings.Repeat("[]", 9) + ")": "in one another",
		"f(" + strings.Repeat("(", 1900) + ")": "in one another", "f(" + strings.Repeat("uint8,", 400) + "uint8)": "at most 2000",
	} {
		_, err := encode(t, text, `[]`)
		if _, is := errors.AsType[*evm.ArgumentError](err); err == nil || is || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
			t.Errorf("%.80s: got %v, want words with %q", text, err, says)
		}
	}
}

func FuzzEncodeCall(f *testing.F) {
	f.Add("transfer(address,uint256)", `["0x00000000000000000000000000000000000000aa","1"]`)
	f.Add("f((uint8 a)[2][],string)", `[[[{"a":1},{"a":2}]],"x"]`)
	f.Fuzz(func(t *testing.T, function, args string) {
		var list []json.RawMessage
		if json.Unmarshal([]byte(args), &list) != nil {
			return
		}
		data, err := evm.EncodeCall(function, list)
		if err == nil && len(data)%32 != 4 {
			t.Errorf("%s %s has %d bytes", function, args, len(data))
		}
	})
}
