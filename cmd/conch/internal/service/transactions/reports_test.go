package transactions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
)

// S17: a send that the gate refuses is logged as a warning and counted.
func TestRefusedSendsAreCounted(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	a := Account{Name: "payer", Scope: "pending:s"}
	var blocked []string
	s := &service{frame: node.Frame{
		Log:     slog.New(slog.NewTextHandler(&text, nil)),
		Blocked: func(scope string) { blocked = append(blocked, scope) },
	}}
	s.reports(a).Refused(&fence.ShutError{Scope: a.Scope, Holder: "somebody"})
	if !slices.Equal(blocked, []string{a.Scope}) {
		t.Errorf("got refusals counted for %q, want %q", blocked, a.Scope)
	}
	if !strings.Contains(text.String(), "level=WARN") || !strings.Contains(text.String(), "holder=somebody") {
		t.Errorf("got the log %s, want a warning with the holder", text.String())
	}
}

// A complaint is about the chain or the database, whichever connection broke.
func TestComplaintsNameTheCulprit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err        error
		says, also string
	}{
		{fmt.Errorf("%w: %w", chain.ErrUnreachable, io.EOF), "CHAIN UNREACHABLE", "EOF"},
		{fmt.Errorf("%w: eth_call: odd", chain.ErrAnswer), "NODE ANSWERS WITH ERRORS", "odd"},
		{fmt.Errorf("%w: 5", chain.ErrForeign), "ANOTHER CHAIN", "5"},
		{fmt.Errorf("%w: no tag", chain.ErrFinality), "WHICH BLOCKS ARE FINAL", "no tag"},
		{fmt.Errorf("%w: no base fee", chain.ErrUnsupported), "KIND THAT IS NOT SUPPORTED", "no base fee"},
		{fmt.Errorf("%w: 0x12", chain.ErrUnproven), "CANNOT BE PROVEN", "0x12"},
		{fmt.Errorf("%w: block 7", chain.ErrNotFound), "is looked up again", "block 7"},
		{&pg.LineError{Err: io.EOF}, "CANNOT BE KEPT", "database"},
		{fmt.Errorf("storing: %w", context.DeadlineExceeded), "CANNOT BE KEPT", "database"},
	} {
		var text bytes.Buffer
		(&complaints{log: slog.New(slog.NewTextHandler(&text, nil)), now: time.Now, said: map[string]time.Time{}}).about(c.err)
		if got := text.String(); !strings.Contains(got, c.says) || !strings.Contains(got, c.also) || c.also != "database" && strings.Contains(got, "database") {
			t.Errorf("%v: got %s, want %q and %q", c.err, got, c.says, c.also)
		}
	}
}

// S21: an error that recurs at every try is logged as an error, and only once in outage.Every.
func TestComplaintsAreLoudAndRare(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	now := time.Unix(0, 0)
	c := &complaints{log: slog.New(slog.NewTextHandler(&text, nil)), now: func() time.Time { return now }, said: map[string]time.Time{}}
	for range 3 {
		for range 100 {
			c.about(fmt.Errorf("dial: %w", chain.ErrUnreachable))
			c.about(os.ErrDeadlineExceeded)
			c.about(context.Canceled)
		}
		now = now.Add(outage.Every)
	}
	got := text.String()
	if strings.Count(got, "CHAIN UNREACHABLE") != 3 || strings.Count(got, "CANNOT BE KEPT") != 3 || strings.Count(got, "\n") != 6 {
		t.Errorf("got the log %s, want each complaint 3 times", got)
	}
	if n := strings.Count(got, "level=ERROR"); n != 6 {
		t.Errorf("got %d errors in the log, want 6", n)
	}
}

// A password that every user may read is refused by all that open the key, the doctor too, and by the check of a file; and no error
// quotes it.
func TestPasswordFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := Account{Keystore: filepath.Join(dir, "key"), PasswordFile: filepath.Join(dir, "password")}
	var err error
	if a.Address, err = evm.WriteKeystore(a.Keystore, strings.Repeat("11", 32), "SECRET", evm.NoCost); err != nil {
		t.Fatal(err)
	}
	for mode, fine := range map[os.FileMode]bool{0o600: true, 0o440: true, 0o644: false, 0o604: false, 0o660: false} {
		_ = os.Remove(a.PasswordFile)
		if err := errors.Join(os.WriteFile(a.PasswordFile, []byte("\ufeffSECRET\r\n"), 0o600), os.Chmod(a.PasswordFile, mode)); err != nil {
			t.Fatal(err)
		}
		var checked error
		check(config.Config{Sections: []config.Section{&Section{accounts: []Account{a}}}}, func(_ string, err error) { checked = err })
		for asked, err := range map[string]error{"check": checked, "doctor": signs(t.Context(), newKeyring(), a)} {
			if (err == nil) != fine || err != nil && (strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "chmod 600")) {
				t.Errorf("mode %o, %s: got error %v, want none: %v", mode, asked, err, fine)
			}
		}
	}
}

// Every alarm has a meaning in the log, counts in the metrics, and a row with a remedy in the docs.
func TestEveryAlarmIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../../../../docs/transactions.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := int(pending.Consumed) + 1; len(meaning) != n {
		t.Errorf("got meanings of %d causes, want %d", len(meaning), n)
	}
	for cause, text := range meaning {
		if text == "" || !strings.Contains(string(page), "| `ALARM` cause `"+cause.String()+"` | ") {
			t.Errorf("cause %v: docs/transactions.md has no row for it, or its meaning %q is empty", cause, text)
		}
	}
}
