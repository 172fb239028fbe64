package contracts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/sequencer/ledger"
)

// declaring returns a contract of three members with these accounts.
func declaring(address, bank, north, east string) string {
	return fmt.Sprintf(`
[[contracts]]
address = "0x%040s"
account = "ops"
members = ["bank", "north", "east"]
accounts = { bank = "0x%040s", north = "0x%040s", east = "0x%040s" }
domain = "notes/1"
issuer = "bank"
`, address, bank, north, east)
}

func loaded(t *testing.T, contracts ...string) (config.Config, error) {
	t.Helper()
	text := "database.url = \"postgres://h/d\"\n[identity]\nname = \"bank\"\nlisten = \"127.0.0.1:0\"\nkey = \"id.pem\"\n"
	for _, name := range []string{"north", "east"} {
		text += fmt.Sprintf("[[peers]]\nname = %q\nurl = \"https://h:7443\"\nkey = \"sha256:%064d\"\n", name, 1)
	}
	path := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(path, []byte(text+strings.Join(contracts, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Source{Path: path, Getenv: func(string) string { return "" }, Sections: configtest.Beside(peers.Kind().Section, Kind().Section)})
}

// A peer is one account for the node, whichever contract a message is about: which of two it would be was chance, and the
// messages of one contract went to the other's member.
func TestAMemberIsOneAccount(t *testing.T) {
	t.Parallel()
	if _, err := loaded(t, declaring("a1", "b1", "c1", "d1"), declaring("a2", "b1", "c1", "d1")); err != nil {
		t.Fatal(err)
	}
	for name, second := range map[string]string{
		"another account of a peer":    declaring("a2", "b1", "c2", "d1"),
		"another account of the node":  declaring("a2", "b2", "c1", "d1"),
		"two peers that change places": declaring("a2", "b1", "d1", "c1"),
	} {
		_, err := loaded(t, declaring("a1", "b1", "c1", "d1"), second)
		if err == nil || !strings.Contains(err.Error(), "contracts[1].accounts.") {
			t.Errorf("%s: got error %v, want a fault of contracts[1].accounts", name, err)
		}
	}
	_, err := loaded(t, strings.Replace(declaring("a1", "b1", "c1", "d1"), `, "east"`, "", 1), strings.Replace(declaring("a2", "b1", "c1", "c1"), `"north", `, "", 1))
	if err == nil || !strings.Contains(err.Error(), "contracts[1].accounts.east") {
		t.Errorf("an account of two peers: got error %v, want a fault of contracts[1].accounts.east", err)
	}
}

// A reload that names other contracts does not change what users are told of the node that runs: it would say that it has no
// such contract, or that it has one which nobody runs.
func TestAReloadLeavesTheContracts(t *testing.T) {
	t.Parallel()
	before, err := loaded(t, declaring("a1", "b1", "c1", "d1"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := loaded(t, declaring("a2", "b1", "c1", "d1"))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{frame: node.Frame{Accounts: &node.Accounts{}}, section: *config.Of[*Section](after)}
	s.term = &term{section: *config.Of[*Section](before)}
	all, self, _ := s.Contracts()
	if len(all) != 1 || all[0].Address != config.Of[*Section](before).contracts[0].Address || len(self) != 20 || self == (ledger.Account("")) {
		t.Errorf("got %v, want the contract with which the node began", all)
	}
}
