package patched

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each patch fits the source as it is. Whether it compiles is seen where the rules are left out.
func TestThePatchesFit(t *testing.T) {
	t.Parallel()
	all, err := patches()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := overlay(root, t.TempDir(), all); err != nil {
		t.Error(err)
	}
}

// This program is the one that ships, whatever the variable says.
func TestThePlainBuildLeavesNothingOut(t *testing.T) {
	t.Setenv(Env, "step-down")
	if Out() != "" {
		t.Errorf("it leaves %s out", Out())
	}
}

const source = `package wing

func safe(n int) bool {
	if n > 1 {
		return true
	}
	return false
}

func twice(n int) bool { return n > 2 }
func twice2(n int) bool {
	return false
}
`

// A patch that does not fit says which one it is, in which file, and of which rule.
func TestAPatchThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# says why\n--- wing/a.go\n-\tif n > 1 {\n+\tif n > 1 || without(\"one\") {\n":        "",
		"--- wing/a.go\n func twice(n int) bool { return n > 2 }\n+var _ = without(\"one\")\n": "",
		"--- wing/a.go\n-\tif n > 3 {\n+\tif n > 3 || without(\"one\") {\n":                    "x.diff:1, without one: wing/a.go has these lines 0 times",
		"--- wing/a.go\n-\treturn false\n+\treturn without(\"one\") || without(\"two\")\n":     "x.diff:1, without one, two: wing/a.go has these lines 2 times",
		"--- wing/a.go\n-if n > 1 {\n+if without(\"one\") {\n":                                 "wing/a.go has these lines 0 times",
		"--- wing/b.go\n-x\n+without(\"one\")\n":                                               "x.diff:1, without one: open ",
		"--- wing/a.go\n-\tif n > 1 {\n+\tif without(\"one\") {{\n":                            "wing/a.go:",
		"--- wing/a.go\n-\tif n > 1 {\n+\tif true {\n":                                         "names no rule",
		"--- wing/a.go\n+without(\"one\")\n":                                                   "replaces nothing",
		"-\tif n > 1 {\n":                                                                      "x.diff:1 is no line of a patch",
		"--- wing/a.go\n-a\n+without(\"one\")\n\n--- wing/a.go\n@@ 1\n":                        "x.diff:6 is no line of a patch",
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "wing"), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "wing", "a.go"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := parse("x.diff", text)
		if err == nil {
			_, err = overlay(root, t.TempDir(), all)
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want an error that says %q", text, err, want)
		}
	}
}
