package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Bad input: a secret that others may read, or that is none, is refused by the check, by the doctor and by the node alike, in the same
// words; one with the mark of an editor at its beginning is taken by all.
func TestSecretsAreJudgedAlike(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, text string
		mode      os.FileMode
		want      string
	}{
		"tokens that all may read":  {"token_file", "ops 0123456789abcdef0123456789abcdef\n", 0o644, "every user of this machine may read it"},
		"readers that all may read": {"read_token_file", "0123456789abcdef0123456789abcdef\n", 0o604, "chmod 600"},
		"tokens in UTF-16":          {"token_file", "\xff\xfe0\x001\x00", 0o600, "is no text in UTF-8"},
		"tokens in a folder":        {"token_file", "", 0o700 | os.ModeDir, "is a folder"},
		"tokens with a mark":        {"token_file", "\ufeffops 0123456789abcdef0123456789abcdef\r\n", 0o640, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			secret, file := filepath.Join(dir, "secret"), filepath.Join(dir, "conch.toml")
			text := fmt.Sprintf("\ufeff[node]\nstandalone = true\nlisten = \"127.0.0.1:0\"\n%s = \"secret\"\n[[roles]]\nname = \"a\"\n", c.key)
			err := os.WriteFile(file, []byte(text), 0o600)
			if c.mode.IsDir() {
				err = errors.Join(err, os.Mkdir(secret, 0o700))
			} else {
				err = errors.Join(err, os.WriteFile(secret, []byte(c.text), 0o600), os.Chmod(secret, c.mode))
			}
			if err != nil {
				t.Fatal(err)
			}
			check, doctor := conch(t, "config", "check", "--config", file), conch(t, "doctor", "--config", file)
			if c.want == "" {
				check.done(t)
				doctor.done(t)
				return
			}
			for asked, r := range map[string]result{"check": check, "doctor": doctor, "node": conch(t, "node", "--config", file)} {
				if said := r.out + r.err; r.code == 0 || !strings.Contains(said, c.want) || !strings.Contains(said, c.key) || strings.Contains(said, "cdef") {
					t.Errorf("%s ends with %d and says %s, want that %s", asked, r.code, said, c.want)
				}
			}
		})
	}
}
