package secretfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/secretfile"
)

// Bad input: each fault is named with what to do, and no error quotes the file.
func TestFaultsOfSecretFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string, mode os.FileMode) string {
		file := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "")+mode.String()+string(rune('a'+len(text)%26)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "missing"): "no such file",
		dir:                           "is a folder",
		"/dev/null":                   "is a folder, a pipe or a device",
		write("SECRET", 0o644):        "chmod 600",
		write("SECRET", 0o660):        "its group may change it (mode 0660)",
		write("SECRET", 0o604):        "every user of this machine may read it",
		write("\nSECRET", 0o600):      "the first line of",
		write("\xff\xfeS\x00E\x00C\x00R\x00E\x00T\x00", 0o600): "no text in UTF-8",
		write(strings.Repeat("SECRET", 1<<18), 0o600):          "is larger than",
	} {
		if text, err := secretfile.Line(file); text != "" || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: got %q and the error %v, want one that says %q", file, text, err, want)
		}
	}
	for text, mode := range map[string]os.FileMode{"SECRET": 0o600, "SECRET\r\nmore": 0o440, "\ufeffSECRET\n": 0o400} {
		if got, err := secretfile.Line(write(text, mode)); got != "SECRET" {
			t.Errorf("of %q with mode %o it reads %q and %v", text, mode, got, err)
		}
	}
}
