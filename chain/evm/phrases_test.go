package evm_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/evm"
)

// A fault in errors.txt fails here and not in a program.
func TestErrorsFile(t *testing.T) {
	t.Parallel()
	if err := evm.ParsePhrases(evm.ErrorsText); err != nil {
		t.Error(err)
	}
}

// Each fault of a file is found, with its line.
func TestFaultsOfAnErrorsFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, fault string }{
		"none":                        {"# a comment\n\n[geth]\nknown\talready known\n", ""},
		"no tab":                      {"[geth]\nknown already known", `line 2: "known already known" has no tab`},
		"an unknown class":            {"[geth]\nknwon\talready known", `line 2: there is no class "knwon"`},
		"a class without a name":      {"[geth]\n\talready known", `line 2: there is no class ""`},
		"a capital":                   {"[geth]\nknown\tAlready known", "line 2: the phrase"},
		"a space at the end":          {"[geth]\nknown\talready known ", "line 2: the phrase"},
		"two tabs":                    {"[geth]\nknown\talready\tknown", "line 2: the phrase"},
		"no phrase":                   {"[geth]\nknown\t", "line 2: the phrase"},
		"a short phrase":              {"[geth]\nknown\tgas", "line 2: the phrase"},
		"a phrase of no words":        {"[geth]\nknown\t: gas", "line 2: the phrase"},
		"no section":                  {"known\talready known", "line 1: it is in no section"},
		"a section twice":             {"[geth]\n[geth]", `line 2: "[geth]" is no new section`},
		"a section without a name":    {"[]", `line 1: "[]" is no new section`},
		"a section without an end":    {"[geth", `line 1: "[geth" is no new section`},
		"the same phrase twice":       {"[geth]\nknown\talready known\n[reth]\nrefused\talready known", `line 4: "already known" never counts`},
		"a hidden phrase":             {"[geth]\nfee-too-low\tunderpriced\nunderpriced\treplacement transaction underpriced", `since "underpriced" is tried first (line 2)`},
		"a hidden estimate":           {"[geth]\nbusy\tnot found\nbusy\theader not found", "line 3: \"header not found\" never counts"},
		"not hidden: a part":          {"[geth]\nunderpriced\treplacement transaction underpriced\nfee-too-low\tunderpriced", ""},
		"not hidden: within a word":   {"[geth]\nknown\tknown transaction\nunfit\tunknown transaction type", ""},
		"not hidden: of other lists":  {"[geth]\nunfit\tintrinsic gas\ncall\tintrinsic gas\nbusy\tintrinsic gas", ""},
		"hidden: invalid counts last": {"[geth]\ninvalid\tinvalid sender\nrefused\tinvalid", `line 2: "invalid sender" never counts`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := evm.ParsePhrases(c.file)
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got faults %v, want %q", err, c.fault)
			}
		})
	}
	if err := evm.ParsePhrases("[geth]\nknown already known\nknwon\talready known"); err == nil || strings.Count(err.Error(), "line ") != 2 {
		t.Errorf("two bad lines: got %v, want both faults", err)
	}
}
