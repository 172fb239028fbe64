package transactions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
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
	if n := int(pending.Reaped) + 1; len(meaning) != n {
		t.Errorf("got meanings of %d causes, want %d", len(meaning), n)
	}
	for cause, text := range meaning {
		_, row, _ := strings.Cut(string(page), "| `ALARM` cause `"+cause.String()+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		if text == "" || row == "" {
			t.Errorf("cause %v: docs/transactions.md has no row for it, or its meaning %q is empty", cause, text)
		}
		_, does, _ := strings.Cut(strings.TrimSuffix(row, " |"), " | ")
		does = regexp.MustCompile("\\[([^]]*)\\]\\([^)]*\\)|`").ReplaceAllString(does, "$1")
		if said := remedy[cause]; said == "" || said != does && !strings.Contains(said, "docs/transactions.md#"+cause.String()) {
			t.Errorf("cause %v: the remedy is %q, and %q on the page", cause, said, does)
		}
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	account := func(p paying) []paying { return []paying{p} }
	for _, c := range []struct {
		name     string
		chains   []endpoint
		accounts []paying
		check    string
		status   doctor.Status
		says     string // of detail and remedy
	}{
		{"a chain that does not answer", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no answer"}}, nil, "chains", doctor.Fail, "no answer"},
		{"another chain", []endpoint{{Chain: Chain{Name: "dev"}, fault: "has chain ID 5", other: true}}, nil, "chains", doctor.Fail, "chain_id"},
		{"a chain of unknown finality", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no tag", vague: true}}, nil, "chains", doctor.Fail, "set finality"},
		{"a legacy chain", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no base fee", unsupported: true}}, nil, "chains", doctor.Fail, "take the chain"},
		{"one of two endpoints", []endpoint{{Chain: Chain{Name: "dev"}}, {Chain: Chain{Name: "dev"}, fault: "no answer"}}, nil, "chains", doctor.Warn, "the others are used"},
		{"two of two endpoints", []endpoint{{Chain: Chain{Name: "dev"}, fault: "no answer"}, {Chain: Chain{Name: "dev"}, fault: "no answer"}}, nil, "chains", doctor.Fail, "does not answer"},
		{"chains that answer", []endpoint{{Chain: Chain{Name: "dev"}}}, nil, "chains", doctor.OK, "1 chain answers"},
		{"a key that does not open", nil, account(paying{Account: Account{Name: "payer"}, fault: "wrong password"}), "keys", doctor.Fail, "wrong password"},
		{"no funds", nil, account(paying{Account: Account{Name: "payer", Address: "\x6d"}, balance: new(big.Int)}), "funds", doctor.Warn, "0x6d, has nothing"},
		{"an unknown balance", nil, account(paying{Account: Account{Name: "payer"}}), "funds", doctor.OK, ""},
		{"another scope", nil, account(paying{Account: Account{Name: "payer", Scope: "mine"}, claimed: "theirs"}), "claims", doctor.Fail, "theirs"},
		{"no scope yet", nil, account(paying{Account: Account{Name: "payer", Scope: "mine"}}), "claims", doctor.OK, ""},
	} {
		found := judge(config.Config{}, c.chains, c.accounts)
		at := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Check == c.check })
		if at < 0 || found[at].Status != c.status || !strings.Contains(found[at].Detail+" "+found[at].Remedy, c.says) || (found[at].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want %v for %q, saying %q", c.name, found, c.status, c.check, c.says)
		}
	}
	if found := judge(config.Config{Node: config.Node{Standalone: true}}, nil, account(paying{})); slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Check == "claims" }) {
		t.Errorf("in standalone mode: got %+v, want no finding about claims", found)
	}
}

// Of each receiver of webhooks the doctor says that it takes nothing, that nobody tells it, and what is dead.
func TestFindingsAboutWebhooks(t *testing.T) {
	t.Parallel()
	shop, since := []Webhook{{Name: "shop"}}, time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	for name, c := range map[string]struct {
		state pgstore.HookState
		says  []string // of each finding
	}{
		"well":              {pgstore.HookState{Name: "shop", Behind: time.Minute}, []string{"no receiver"}},
		"it takes nothing":  {pgstore.HookState{Name: "shop", Failing: since, Why: "503\u202e", Waiting: 7, Behind: time.Hour}, []string{`since 2026-11-30T01:02:03Z: 503\u202e; 7 of its events`}},
		"nobody tells it":   {pgstore.HookState{Name: "shop", Behind: time.Hour}, []string{"1h0m0s ago conch status webhooks"}},
		"dead ones as well": {pgstore.HookState{Name: "shop", Failing: since, Dead: 1}, []string{"takes nothing", `1 event is of webhook "shop" dead conch webhooks list --dead shop conch webhooks replay shop --dead`}},
		"another one":       {pgstore.HookState{Name: "gone", Dead: 9}, []string{"no receiver"}},
	} {
		found := judgeWebhooks(shop, []pgstore.HookState{c.state})
		if len(found) != len(c.says) {
			t.Fatalf("%s: got %+v", name, found)
		}
		for i, f := range found {
			for word := range strings.FieldsSeq(c.says[i]) {
				if !strings.Contains(f.Detail+" "+f.Remedy, word) || f.Check != "webhooks" {
					t.Errorf("%s: got %+v, want %q in it", name, f, word)
				}
			}
		}
	}
	if found := judgeWebhooks(nil, []pgstore.HookState{{Name: "gone", Dead: 9}}); len(found) > 0 {
		t.Errorf("without a receiver: %+v", found)
	}
}

// What is not configured is not spoken of.
func TestNothingToCheck(t *testing.T) {
	t.Parallel()
	if found := judge(config.Config{}, nil, nil); len(found) > 0 {
		t.Errorf("without a chain and an account: got %+v, want no finding", found)
	}
	one := []endpoint{{Chain: Chain{Name: "dev"}}}
	if found := judge(config.Config{}, one, nil); len(found) != 1 || found[0].Check != "chains" {
		t.Errorf("without an account: got %+v, want chains alone", found)
	}
}
