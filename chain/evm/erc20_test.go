package evm_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/evm"
)

// A function is read from its signature or its four bytes, and a text that is hashed to another function than was meant is refused.
func TestParseSelector(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"transfer(address,uint256)": "a9059cbb", "approve(address,uint256)": "095ea7b3", "transferFrom(address,address,uint256)": "23b872dd",
		"multicall(bytes[])": "ac9650d8", "deposit()": "d0e30db0", "0xA9059cbb": "a9059cbb",
		"exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))": "414bf389",
	} {
		if got, err := evm.ParseSelector(text); err != nil || hex.EncodeToString(got[:]) != want {
			t.Errorf("%s is %x, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is no function", "transfer": "is no function", "transfer(address, uint256)": "is no function", "transfer(address to)": "is no function",
		"0xa9059c": "is no function", "0xa9059cbb00": "is no function", "any": "is no function",
		"transfer(address,uint)": "without its size", "f(uint[],address)": "without its size", "f((int,bool))": "without its size",
	} {
		if got, err := evm.ParseSelector(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %x, %v; want %q", text, got, err, want)
		}
	}
}

// What moves coins is read as the contract reads it, or not at all.
func TestDecodeERC20(t *testing.T) {
	t.Parallel()
	const aa, bb = "00000000000000000000000000000000000000aa", "00000000000000000000000000000000000000bb"
	word := func(s string) string { return strings.Repeat("0", 64-len(s)) + s }
	for _, c := range []struct{ name, data, function, to, amount, fault string }{
		{"transfer", "a9059cbb" + word(aa) + word("ff"), "transfer", aa, "255", ""},
		{"approve all", "095ea7b3" + word(aa) + strings.Repeat("f", 64), "approve", aa, "115792089237316195423570985008687907853269984665640564039457584007913129639935", ""},
		{"transferFrom", "23b872dd" + word(bb) + word(aa) + word("1"), "transferFrom", aa, "1", ""},
		{"too short", "a9059cbb" + word(aa), "transfer", "", "", "32 bytes"},
		{"too long", "a9059cbb" + word(aa) + word("1") + "00", "transfer", "", "", "65 bytes"},
		{"no address", "a9059cbb" + "01" + word(aa)[2:] + word("1"), "transfer", "", "", "something else"},
		{"other sender", "23b872dd" + "01" + word(bb)[2:] + word(aa) + word("1"), "transferFrom", "", "", "something else"},
		{"another function", "ac9650d8" + word("20"), "", "", "", ""},
		{"three bytes", "a9059c", "", "", "", ""},
		{"nothing", "", "", "", "", ""},
	} {
		raw, err := hex.DecodeString(c.data)
		if err != nil {
			t.Fatal(err)
		}
		got, is, err := evm.DecodeERC20(raw)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if is != (c.function != "") || got.Function != c.function || fault == "" != (c.fault == "") || !strings.Contains(fault, c.fault) {
			t.Errorf("%s: got %+v, %v, %q", c.name, got, is, fault)
		}
		if c.amount != "" && (hex.EncodeToString([]byte(got.To)) != c.to || got.Amount.String() != c.amount) {
			t.Errorf("%s: %v gets %v, want %s and %s", c.name, got.To, got.Amount, c.to, c.amount)
		}
	}
}
