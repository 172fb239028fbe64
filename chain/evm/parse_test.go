package evm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/evm"
)

// An address is taken in small letters, in capitals, or with the checksum of EIP-55 (whose own examples these are). Anything
// else is refused in one sentence that says what is wrong with it.
func TestParseAddress(t *testing.T) {
	const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, text := range []string{
		right, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
		"0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
		strings.ToLower(right), "0x" + strings.ToUpper(right[2:]), strings.ToUpper(right), "0x" + strings.Repeat("1", 40),
	} {
		if got, err := evm.ParseAddress(text); err != nil || got.String() != strings.ToLower(text) {
			t.Errorf("%s: got %v, %v, want it", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD": "with these digits it is " + right, // the last letter
		"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "with these digits it is " + right,
		"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeD": "with these digits it is " + right,
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAdd": "with these digits it is 0x5aAEb6053F3e94c9B9A09F33669435e7Ef1BeaDd", // another digit
		"": "it is empty",
		"5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "does not begin with 0x",
		"0x": "it has 0 digits after 0x", "0x5aAe": "it has 4 digits after 0x", right + "00": "it has 42 digits after 0x", "0x0X" + right[4:]: "no hexadecimal digit",
		"0X0x" + right[4:]: "no hexadecimal digit", "0x0x" + right[2:]: "no hexadecimal digit",
		"XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS": "does not begin with 0x", "vitalik.eth": "it is a name", "alice": "does not begin with 0x",
		" " + right: "(U+0020)", right + "\n": "(U+000A)", right[:9] + "\u200b" + right[9:]: "(U+200B)", "\ufeff" + right: "(U+FEFF)", right[:9] + "\u00a0": "(U+00A0)",
		"0x5\u0430Aeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "(U+0430) is no hexadecimal digit", "0x\xff": "no hexadecimal digit",
	} {
		got, err := evm.ParseAddress(text)
		if err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
		if errors.Is(err, evm.ErrChecksum) != strings.HasPrefix(want, "with these") {
			t.Errorf("%q: %v is no error of a checksum, or should be one", text, err)
		}
	}
}
